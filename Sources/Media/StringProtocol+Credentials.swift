extension StringProtocol {
  /// The text for messages, logs, status and the API, where it may be an address or a part of a command line: without anything
  /// that may be a password or token. Idempotent.
  ///
  /// Passwords are written without percent-encoding by mistake, and addresses with missing parts, so that a text has several
  /// readings. A part is shown only if it is no secret in any of them; `…` stands for everything else:
  ///
  /// | text                                   | shown                         |
  /// |----------------------------------------|-------------------------------|
  /// | `rtsp://NAME:PASSWORD@HOST:554/a?b=c`  | `rtsp://…@HOST:554/a?…`       |
  /// | `rtsp://NAME:PASS/WORD@HOST/a`         | `rtsp://…`                    |
  /// | `rtsp://NAME:PASSWORD/a`               | `rtsp://…`, since it is no port |
  /// | `rtmp://HOST/APP/KEY`                  | `rtmp://HOST/APP/…`           |
  /// | `NAME:PASSWORD`, `KEY=VALUE`           | `NAME:…`, `KEY=…`             |
  /// | `PASSWORD@HOST`                        | `…`                           |
  /// | `file:/a/b.mp4`, `screen::0`, `plasma` | unchanged                     |
  package func withoutCredentials() -> String {
    // By bytes: a combining character would hide a delimiter before it.
    let bytes = Array(self.utf8)
    if let mark = bytes.firstRange(of: Array("://".utf8))?.lowerBound {
      return MaskedAddress(scheme: bytes[..<mark], rest: bytes[(mark + 3)...]).text
    }
    let isAt = bytes.contains(UInt8(ascii: "@"))
    for scheme in Self.localSchemes where bytes.starts(with: scheme.utf8) {
      // A path may have an at sign, but hardly a colon before it.
      let place = bytes.dropFirst(scheme.utf8.count)
      let hasColon = place.contains(UInt8(ascii: ":"))
      // A device or file in this folder has hardly a colon in its name.
      if hasColon, ["file:", "v4l2:"].contains(scheme),
        !["/", ".", "~"].contains(where: { place.starts(with: $0.utf8) })
      {
        return scheme + "…"
      }
      return isAt && (hasColon || scheme.last == ":" && scheme != "file:") ? scheme + "…" : String(self)
    }
    if isAt { return "…" }
    guard let sign = bytes.firstIndex(where: { ":=?#&".utf8.contains($0) }), sign + 1 < bytes.count else {
      return String(self)
    }
    return String(decoding: bytes[...sign], as: UTF8.self) + "…"
  }

  /// The path of a file for messages, which may be an address or `NAME:PASSWORD` that was given by mistake. Idempotent.
  ///
  /// | text                                        | shown           |
  /// |---------------------------------------------|-----------------|
  /// | `rtsp://NAME:PASSWORD@HOST/a`               | `rtsp://…@HOST/a` |
  /// | `NAME:PASSWORD`, `rtsp:/NAME:PASSWORD@HOST` | `NAME:…`, `rtsp:…` |
  /// | `KEY=VALUE`                                 | `KEY=…`         |
  /// | `/a/NAME:PASSWORD@HOST/b`                   | `/a/…`          |
  /// | `/a/2026-11-22_12:30.mp4`, `logo@2x.png`    | unchanged       |
  package func pathWithoutCredentials() -> String {
    let bytes = Array(self.utf8)
    if bytes.firstRange(of: Array("://".utf8)) != nil { return self.withoutCredentials() }
    guard let sign = bytes.firstIndex(where: { ":=".utf8.contains($0) }), sign + 1 < bytes.count else {
      return String(self)
    }
    guard let slash = bytes[..<sign].lastIndex(of: UInt8(ascii: "/")) else {
      return String(decoding: bytes[...sign], as: UTF8.self) + "…"
    }
    guard bytes[sign...].contains(UInt8(ascii: "@")) else { return String(self) }
    return String(decoding: bytes[...slash], as: UTF8.self) + "…"
  }

  /// Beginnings of texts that name a file or device of this machine.
  private static var localSchemes: [String] { ["file:", "v4l2:", "mic:", "screen:", "pipe:", "/", "./", "../"] }
}

/// The parts of a text with `://`, as far as they are shown.
private struct MaskedAddress {
  /// Schemes that are shown behind any text, such as `--source=`.
  private static let schemes = [
    "rtsp", "rtsps", "http", "https", "rtmp", "rtmps", "rtmpt", "srt", "file", "ftp", "tcp", "udp", "rtp",
  ]
  /// Maximum length of a shown path, in bytes.
  private static let maximumPath = 200
  /// Maximum length of a shown host and port, in bytes.
  private static let maximumHost = 255

  let text: String

  init(scheme: ArraySlice<UInt8>, rest: ArraySlice<UInt8>) {
    guard let shown = Self.shown(scheme: scheme, hasAt: rest.contains(UInt8(ascii: "@"))) else {
      self.text = "…"
      return
    }
    let scheme = shown + "://"
    // The part behind the last at sign is a host, unless a path or query begins before it: then the sign is a part of these,
    // or the path a part of a password.
    let at = rest.lastIndex(of: UInt8(ascii: "@"))
    guard at.map({ !rest[..<$0].contains(where: Self.endsAuthority) }) ?? true else {
      self.text = scheme + "…"
      return
    }
    let place = at.map { rest[($0 + 1)...] } ?? rest
    let end = place.firstIndex(where: Self.endsAuthority) ?? place.endIndex
    guard Self.isAuthority(place[..<end]) else {
      self.text = scheme + (at == nil ? "…" : "…@…")
      return
    }
    let tail = place[end...]
    let pathEnd = tail.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? tail.endIndex
    let isQuery = pathEnd < tail.endIndex && tail[pathEnd] == UInt8(ascii: "?")
    self.text =
      scheme + (at == nil ? "" : "…@") + String(decoding: place[..<end], as: UTF8.self)
      + Self.shown(path: tail[..<pathEnd], isKeyed: scheme.contains("rtmp")) + (isQuery ? "?…" : "")
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    "/?#\\".utf8.contains(byte) || byte <= 0x20
  }

  /// The scheme, behind `file:` where a file is an address; nil where the bytes may be a part of a password.
  private static func shown(scheme text: ArraySlice<UInt8>, hasAt: Bool) -> String? {
    let name = text.reversed().prefix { byte in
      byte.isLetterOrDigit || "+-.".utf8.contains(byte)
    }
    let scheme = String(decoding: name.reversed().map(\.lowercasedLetter), as: UTF8.self)
    let before = text.dropLast(name.count)
    let isKnown = Self.schemes.contains(scheme)
    if before.isEmpty, isKnown || !hasAt && name.count <= 10 { return scheme }
    guard isKnown else { return nil }
    return before.elementsEqual("file:".utf8) ? "file:" + scheme : "…" + scheme
  }

  /// Whether the bytes are a host, or a host and the digits of a port.
  private static func isAuthority(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard bytes.count <= Self.maximumHost else { return false }
    var port = bytes[bytes.endIndex...]
    var host = bytes
    if bytes.first == UInt8(ascii: "["), let bracket = bytes.lastIndex(of: UInt8(ascii: "]")) {
      host = bytes[(bytes.startIndex + 1)..<bracket]
      port = bytes[(bracket + 1)...]
      // A zone (RFC 6874) may have other characters than the address.
      guard host.allSatisfy({ $0.isLetterOrDigit || ":.%-_".utf8.contains($0) }) else { return false }
    } else {
      if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
        host = bytes[..<colon]
        port = bytes[colon...]
      }
      guard host.allSatisfy({ $0.isLetterOrDigit || "-._".utf8.contains($0) }) else { return false }
    }
    return port.isEmpty
      || port.first == UInt8(ascii: ":") && (2...6).contains(port.count)
        && port.dropFirst().allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  /// A path without parameters; of RTMP, whose last segment may be a stream key, the first segment.
  private static func shown(path: ArraySlice<UInt8>, isKeyed: Bool) -> String {
    let mark = Array("…".utf8)
    if path.reversed().starts(with: mark.reversed() + [UInt8(ascii: "/")]) {
      // The path is masked already.
      let shown = Self.shown(path: path.dropLast(mark.count), isKeyed: isKeyed)
      return shown.hasSuffix("…") ? shown : shown + "…"
    }
    guard path.allSatisfy({ $0.isLetterOrDigit || "/-._~%+!$'()*".utf8.contains($0) }) else { return "/…" }
    guard path.count <= Self.maximumPath else { return "/…" }
    let text = String(decoding: path, as: UTF8.self)
    let segments = text.split(separator: "/")
    return isKeyed && segments.count > 1 ? "/\(segments[0])/…" : text
  }
}

extension UInt8 {
  /// Whether the byte is an ASCII letter or digit.
  fileprivate var isLetterOrDigit: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }

  /// The small letter of a capital ASCII letter; other bytes unchanged.
  fileprivate var lowercasedLetter: UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
  }
}
