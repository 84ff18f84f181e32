internal import Authentication
public import Media

/// The address of a ``NetworkSource``.
///
/// | scheme                          | source |
/// |---------------------------------|------|
/// | `rtsp`, `rtsps`                 | a camera or media server |
/// | `http`, `https`                 | HLS (`.m3u8`), Motion JPEG, a snapshot in JPEG, and every format that libavformat reads |
/// | `rtmp`, `rtmps`, `rtmpt`        | a media server |
/// | `srt`                           | a caller or listener, where libavformat was built with it |
///
/// User name and password precede the host, percent-encoded: `rtsp://USER:PASSWORD@HOST/PATH`. The query after `?` is
/// sent to the server, except the option `insecure=1`, which accepts any certificate of a TLS server. The fragment after
/// `#` is never sent and has one option: `#transport=udp` receives RTP over UDP instead of TCP.
public struct NetworkSpecification: Hashable, Sendable, CustomStringConvertible {
  /// Transport of RTP packets with RTSP.
  public enum Transport: String, Hashable, Sendable, CaseIterable {
    /// Interleaved in the RTSP connection: lossless, and passes firewalls.
    case tcp
    /// UDP datagrams.
    case udp
  }

  /// Supported URL schemes, in lower case; a URL may write them in any case.
  public static let schemes = ["rtsp", "rtsps", "http", "https", "rtmp", "rtmps", "rtmpt", "srt"]

  /// The URL with user name and password. Must not be displayed or logged.
  public let url: String
  /// The scheme in lower case, one of ``schemes``.
  public let scheme: String
  /// Transport of RTP packets with RTSP; ``Transport/tcp`` unless the URL ends with `#transport=udp`.
  public let transport: Transport
  /// The host: a name, or a numeric address without brackets.
  package let host: String
  /// The port, 1 to 65535; nil for the scheme's.
  package let port: Int?
  /// Whether a user name is part of the address.
  public let hasCredentials: Bool
  /// The source as users name it, with its options. Must not be displayed or logged.
  package let sourceName: String
  /// The URL for display and logs, without anything that may be a password or token.
  public let description: String

  /// Whether connections to link-local and cloud metadata addresses are allowed. Applies to each address that a name resolves
  /// to, to redirections, and to the entries of playlists.
  public var allowsLinkLocal = true

  /// Whether a response may be a session description (SDP), which makes this machine open UDP ports.
  package var allowsSessionDescriptions = true

  /// Whether the source is connected to, and no port of this machine waits for it, as with SRT and `mode=listener`.
  package var isCaller: Bool {
    guard self.scheme == "srt" else { return true }
    let query = self.url.utf8.drop { $0 != UInt8(ascii: "?") }
    return query.split(whereSeparator: { "?&;".utf8.contains($0) }).allSatisfy { pair in
      !pair.starts(with: "mode=".utf8) || pair.elementsEqual("mode=caller".utf8)
    }
  }

  /// Maximum length in bytes.
  private static let maximumLength = 2_048

  /// Whether a text begins with a supported scheme and `://`.
  public static func matches(_ text: String) -> Bool {
    Self.schemes.contains { text.lowercasedASCII.hasPrefix($0 + "://") }
  }

  /// A path or URL for display, without anything that may be a password or token.
  package static func masked(_ text: String) -> String {
    // A path may begin with any text.
    String("file:\(text)".withoutCredentials().dropFirst(5))
  }

  /// Whether the certificate of a TLS server is not verified (`insecure=1`).
  public let isInsecure: Bool

  /// Parses a URL.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification``, without the password.
  public init(parsing text: String) throws(VidiconError) {
    let parts = Parts(text)
    let description = String(text.withoutCredentials().prefix(300))
    self.description = description
    func failure(_ cause: String, _ nextStep: String) -> VidiconError {
      VidiconError(.invalidSpecification, subject: description, cause: cause, nextStep: nextStep)
    }
    guard Self.schemes.contains(parts.scheme) else {
      throw failure("its scheme is not known", "use one of \(Self.schemes.map { $0 + "://" }.joined(separator: ", "))")
    }
    guard text.utf8.count <= Self.maximumLength else {
      throw failure("the address is longer than \(Self.maximumLength) bytes", "use a shorter one")
    }
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }) else {
      throw failure("it has a character that is not allowed in a URL", "percent-encode it, as a space in %20")
    }
    guard Self.isHost(parts.host) else {
      throw failure("it has no host", "write \(parts.scheme)://HOST/PATH")
    }
    if let port = parts.port {
      guard let number = UInt16(port), number > 0 else {
        throw failure(
          "its port is not a number from 1 to 65535",
          "write \(parts.scheme)://HOST:PORT/PATH, and percent-encode / ? # @ of a password")
      }
    }
    switch parts.fragment {
    case nil: self.transport = .tcp
    case let option?:
      guard let name = option.split(separator: "=", maxSplits: 1).last, option.hasPrefix("transport="),
        let transport = Transport(rawValue: String(name)), parts.scheme.hasPrefix("rtsp")
      else {
        throw failure("the part after # is not an option", "leave it out; RTSP has #transport=udp")
      }
      self.transport = transport
    }
    self.sourceName = text
    self.scheme = parts.scheme
    self.hasCredentials = parts.hasCredentials
    self.isInsecure = parts.isInsecure
    self.port = parts.port.flatMap { Int($0) }
    self.host = String(parts.host.drop { $0 == "[" }.prefix { $0 != "]" })
    self.url = parts.url
  }

  /// A named pipe of this machine, which is read as a network source is: its writers come and go.
  ///
  /// - Parameter fifo: Path of the pipe.
  package init(fifo path: String) {
    self.url = path
    self.sourceName = "file:\(path)"
    self.scheme = Self.fifoScheme
    self.transport = .tcp
    self.host = ""
    self.port = nil
    self.hasCredentials = false
    self.isInsecure = false
    self.description = Self.masked(path)
  }

  /// Scheme of named pipes, which no text has.
  private static let fifoScheme = "fifo"

  /// Whether it is a named pipe of this machine.
  package var isFIFO: Bool { self.scheme == Self.fifoScheme }

  /// A name, an IPv4 address, or an IPv6 address in brackets.
  private static func isHost(_ host: Substring) -> Bool {
    guard host.first == "[" else {
      return !host.isEmpty && host.utf8.allSatisfy { $0 != UInt8(ascii: "[") && $0 != UInt8(ascii: "]") }
    }
    let inside = host.dropFirst().dropLast()
    // A zone identifier may follow the address (RFC 6874).
    return host.last == "]" && inside.utf8.contains(UInt8(ascii: ":"))
      && inside.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: ":.%-_".utf8.contains(byte)
        }
      }
  }
}

/// Splits a URL into its parts, without validation.
private struct Parts {
  var scheme = ""
  var hasCredentials = false
  var isInsecure = false
  var host: Substring = ""
  var port: Substring?
  var fragment: Substring?
  /// The URL without fragment, with the scheme in lower case.
  var url = ""

  init(_ text: String) {
    // Compares bytes: a combining character would hide a delimiter before it.
    guard let mark = text.range(of: "://") else { return }
    self.scheme = String(text[..<mark.lowerBound]).lowercasedASCII
    var rest = text[mark.upperBound...]
    if let hash = rest.utf8.lastIndex(of: UInt8(ascii: "#")) {
      self.fragment = rest[rest.utf8.index(after: hash)...]
      rest = rest[..<hash]
    }
    let option = "insecure=1"
    if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
      let pairs = rest[rest.utf8.index(after: mark)...].utf8.split(
        separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
      let others = pairs.filter { !$0.elementsEqual(option.utf8) }
      if others.count < pairs.count {
        self.isInsecure = true
        let query = others.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "&")
        rest = Substring(rest[..<mark] + (others.isEmpty ? "" : "?" + query))
      }
    }
    self.url = self.scheme + "://" + rest
    let authorityEnd = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
    var authority = rest[..<authorityEnd]
    if let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) {
      self.hasCredentials = true
      authority = authority[authority.utf8.index(after: at)...]
    }
    self.host = authority
    let bracket = authority.utf8.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
    if let colon = authority[bracket...].utf8.lastIndex(of: UInt8(ascii: ":")) {
      self.host = authority[..<colon]
      self.port = authority[authority.utf8.index(after: colon)...]
    }
  }
}

extension String {
  /// Lower case of ASCII letters only.
  fileprivate var lowercasedASCII: String {
    String(decoding: self.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }

  /// Range of the first occurrence of a text, compared by bytes.
  fileprivate func range(of text: String) -> Range<Index>? {
    let (bytes, wanted) = (self.utf8, Array(text.utf8))
    var start = bytes.startIndex
    while start < bytes.endIndex {
      if bytes[start...].starts(with: wanted) {
        return start..<bytes.index(start, offsetBy: wanted.count)
      }
      start = bytes.index(after: start)
    }
    return nil
  }
}

extension NetworkSpecification {
  /// The URL without user and password, and these, decoded. The URL may have other secrets in its path and query.
  package var access: (url: String, credentials: (user: String, password: String)?) {
    guard let mark = self.url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return (self.url, nil) }
    let rest = self.url[mark...].dropFirst(3)
    let end = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
    guard let at = rest[..<end].utf8.lastIndex(of: UInt8(ascii: "@")) else { return (self.url, nil) }
    let parts = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    func decoded(_ part: Substring?) -> String { part.map { $0.percentDecoded ?? String($0) } ?? "" }
    return (
      "\(self.scheme)://\(rest[at...].dropFirst())",
      (user: decoded(parts.first), password: decoded(parts.dropFirst().first))
    )
  }
}
