internal import Authentication
package import Media

/// A request URI, RFC 2326 §3.2 and §6.1: an absolute URL, a path, or `*` for the whole server.
///
/// Clients write a stream's URL in many ways: with or without a trailing slash, with repeated slashes, a query, user
/// and password. ``streamPath`` and ``base`` contain none of these.
package struct RTSPURL: Hashable, Sendable {
  /// Whether the URI is `*`, the whole server.
  package private(set) var isAsterisk = false
  /// `rtsp`, `rtsps` or `rtspu` in lower case; nil for a path.
  package private(set) var scheme: String?
  /// The host, an IPv6 address without brackets; nil for a path.
  package private(set) var host: String?
  /// The port, 1 to 65,535; nil when it is absent.
  package private(set) var port: UInt16?
  /// The path as written, percent-encoded, with its leading slash; may be empty.
  package private(set) var path = ""
  /// The query behind the question mark, as written; nil without a question mark.
  package private(set) var query: String?

  /// Parses a request URI.
  ///
  /// - Throws: `ParsingError` `.invalid` for another scheme, an empty or invalid host, or a port outside 1 to 65,535.
  package init(parsing text: String) throws(ParsingError) {
    if text == "*" {
      self.isAsterisk = true
      return
    }
    var rest = text[...]
    if let fragment = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
    if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
      self.query = String(rest[rest.utf8.index(after: mark)...])
      rest = rest[..<mark]
    }
    if rest.utf8.first != UInt8(ascii: "/") {
      guard
        let scheme = ["rtsp", "rtsps", "rtspu"].first(where: { scheme in
          let prefix = scheme + "://"
          return rest.utf8.count >= prefix.utf8.count
            && String(decoding: rest.utf8.prefix(prefix.utf8.count), as: UTF8.self).equalsIgnoringCase(prefix)
        })
      else { throw Self.malformed }
      self.scheme = scheme
      rest = rest[rest.utf8.index(rest.startIndex, offsetBy: scheme.utf8.count + 3)...]
      let end = rest.utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
      try self.read(authority: rest[..<end])
      rest = rest[end...]
    }
    self.path = String(rest)
  }

  /// The decoded path components without empty ones, and the rendition that the query names behind them; nil when a component
  /// is not UTF-8.
  package var pathComponents: [String]? {
    var components: [String] = []
    for part in self.path.utf8.split(separator: UInt8(ascii: "/")) {
      guard let component = Self.decode(part) else { return nil }
      components.append(component)
    }
    if let rendition {
      guard let component = Self.decode(rendition.utf8) else { return nil }
      components.append(component)
    }
    return components
  }

  /// The value of `rendition` in the query as written; nil when it is absent or empty.
  private var rendition: Substring? {
    let value = self.value(of: "rendition")
    return value?.isEmpty == true ? nil : value
  }

  /// Whether the query has `start=cached`: playing begins with the last keyframe instead of the next one.
  package var startsCached: Bool { self.value(of: "start") == "cached" }

  /// The value of a name in the query as written, up to a slash, behind which clients append control values; nil without one.
  private func value(of name: String) -> Substring? {
    guard let query else { return nil }
    for pair in query.split(separator: "&") where pair.utf8.starts(with: "\(name)=".utf8) {
      return pair.dropFirst(name.count + 1).prefix { $0 != "/" }
    }
    return nil
  }

  /// The name of a stream: the decoded components joined by slashes; empty for an empty path, nil when it is not UTF-8.
  package var streamPath: String? {
    self.pathComponents?.joined(separator: "/")
  }

  /// The absolute URL without user, password, query and trailing slashes, and with the rendition that the query names as its
  /// last component; nil for a path.
  ///
  /// A relative control URL is appended with a slash. The base has no query, since clients that follow RFC 3986
  /// strictly (GStreamer 1.22) resolve `trackID=0` against `rtsp://host/live?x=1/` to `rtsp://host/trackID=0`.
  package var base: String? {
    guard let scheme = self.scheme, let host = self.host else { return nil }
    let port = self.port.map { ":\($0)" } ?? ""
    let path = self.path.utf8.reversed().drop { $0 == UInt8(ascii: "/") }.reversed()
    return "\(scheme)://\(host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host)\(port)"
      + String(decoding: path, as: UTF8.self) + (self.rendition.map { "/\($0)" } ?? "")
  }

  /// The value of `token` in the query; nil without one.
  package var token: String? { self.secret("token") }

  /// The value of `key` in the query, by which publishers send a stream; nil without one.
  package var key: String? { self.secret("key") }

  private func secret(_ name: String) -> String? {
    let prefix = "\(name)=".utf8
    for pair in (self.query ?? "").utf8.split(separator: UInt8(ascii: "&")) where pair.starts(with: prefix) {
      return Self.decode(pair.dropFirst(prefix.count))
    }
    return nil
  }

  private static let malformed = ParsingError(.invalid, field: RTSPField.requestURI)

  /// `[user[:password]@]host[:port]`
  private mutating func read(authority: Substring) throws(ParsingError) {
    var rest = authority
    if let at = rest.utf8.lastIndex(of: UInt8(ascii: "@")) { rest = rest[rest.utf8.index(after: at)...] }
    var host: Substring
    if rest.utf8.first == UInt8(ascii: "[") {
      guard let bracket = rest.utf8.firstIndex(of: UInt8(ascii: "]")) else { throw Self.malformed }
      host = rest[rest.utf8.index(after: rest.startIndex)..<bracket]
      rest = rest[rest.utf8.index(after: bracket)...]
      guard host.utf8.contains(UInt8(ascii: ":")) else { throw Self.malformed }
    } else {
      host = rest[..<(rest.utf8.firstIndex(of: UInt8(ascii: ":")) ?? rest.endIndex)]
      rest = rest[host.endIndex...]
    }
    guard !host.isEmpty, !host.utf8.contains(where: { Self.isForbiddenInHost($0) }) else { throw Self.malformed }
    self.host = String(host)
    guard let colon = rest.utf8.first else { return }
    let digits = rest.utf8.dropFirst()
    guard colon == UInt8(ascii: ":") else { throw Self.malformed }
    if digits.isEmpty { return }
    guard let port = Substring(digits).decimal(as: UInt16.self), port > 0 else { throw Self.malformed }
    self.port = port
  }

  private static func isForbiddenInHost(_ byte: UInt8) -> Bool {
    byte.isControl || " \"<>[]\\^`{|},;".utf8.contains(byte)
  }

  /// Decodes percent-encoding, RFC 3986 §2.1; an invalid escape is kept unchanged.
  private static func decode(_ text: Substring.UTF8View) -> String? {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let high = rest.first?.hexadecimalValue,
        let low = rest.dropFirst().first?.hexadecimalValue
      {
        bytes.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
