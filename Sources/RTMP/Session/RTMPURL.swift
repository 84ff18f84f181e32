public import Authentication
public import Media

/// The address of a stream at another server, `rtmp[s]://HOST[:PORT]/APP[/INSTANCE]/KEY[?QUERY]`.
///
/// The key is the last component with its query, and a secret: no description shows it. A user and password are refused:
/// servers that want them take them in the query.
public struct RTMPURL: Hashable, Sendable {
  /// Whether the connection is encrypted: `rtmps`.
  public var isEncrypted: Bool
  /// The host, an IPv6 address without brackets.
  public var host: String
  /// The port, 1 to 65,535; 1935 by default, 443 with encryption.
  public var port: UInt16
  /// The application: all components but the last; may be empty.
  public var application: String
  /// The stream key with its query; empty when the path has one component only.
  public var key: Secret

  /// Parses a URL.
  ///
  /// - Throws: `.unsupported` for another scheme, `.invalid` for a malformed host or port, a user or control characters,
  ///   `.missing` without an application. No error contains the key.
  public init(parsing text: String) throws(ParsingError) {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    let scheme = parts.first.flatMap { String($0) } ?? ""
    switch true {
    case scheme.equalsIgnoringCase("rtmp"): self.isEncrypted = false
    case scheme.equalsIgnoringCase("rtmps"): self.isEncrypted = true
    default: throw ParsingError(.unsupported, field: "scheme", offset: 0)
    }
    guard parts.count == 2, parts[1].starts(with: "//".utf8) else { throw ParsingError(.invalid, field: "URL") }
    guard !text.utf8.contains(where: { $0.isControl || $0 == UInt8(ascii: " ") }) else {
      throw ParsingError(.invalid, field: "URL")
    }
    let rest = parts[1].dropFirst(2)
    let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
    (self.host, self.port) = try Self.authority(rest[..<end], defaultPort: self.isEncrypted ? 443 : 1935)
    let path = rest[end...].drop { $0 == UInt8(ascii: "/") }
    guard !path.isEmpty else { throw ParsingError(.missing, field: "application") }
    // A slash in the query belongs to the key.
    let mark = path.firstIndex(of: UInt8(ascii: "?")) ?? path.endIndex
    guard let slash = path[..<mark].lastIndex(of: UInt8(ascii: "/")) else {
      self.application = String(Substring(path))
      self.key = Secret("")
      return
    }
    self.application = String(Substring(path[..<slash]))
    self.key = Secret(String(Substring(path[path.index(after: slash)...])))
  }

  /// The URL up to the application, for `connect`: `tcUrl`.
  public var connectionURL: String {
    let isDefault = self.port == (self.isEncrypted ? 443 : 1935)
    let host = self.host.utf8.contains(UInt8(ascii: ":")) ? "[\(self.host)]" : self.host
    return "\(self.isEncrypted ? "rtmps" : "rtmp")://\(host)\(isDefault ? "" : ":\(self.port)")/\(self.application)"
  }

  private static func authority(
    _ text: Substring.UTF8View, defaultPort: UInt16
  ) throws(ParsingError) -> (host: String, port: UInt16) {
    guard !text.contains(UInt8(ascii: "@")) else { throw ParsingError(.invalid, field: "user") }
    var host = text
    var port: Substring.UTF8View?
    if text.first == UInt8(ascii: "[") {
      guard let bracket = text.firstIndex(of: UInt8(ascii: "]")) else { throw ParsingError(.invalid, field: "host") }
      host = text[text.index(after: text.startIndex)..<bracket]
      let rest = text[text.index(after: bracket)...]
      guard host.contains(UInt8(ascii: ":")), rest.isEmpty || rest.first == UInt8(ascii: ":") else {
        throw ParsingError(.invalid, field: "host")
      }
      port = rest.isEmpty ? nil : rest.dropFirst()
    } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
      host = text[..<colon]
      port = text[text.index(after: colon)...]
    }
    guard !host.isEmpty, !host.contains(where: { "[]?#/\\".utf8.contains($0) }) else {
      throw ParsingError(.invalid, field: "host")
    }
    guard let port else { return (String(Substring(host)), defaultPort) }
    guard let number = Substring(port).decimal(as: UInt16.self), number > 0 else {
      throw ParsingError(.invalid, field: "port")
    }
    return (String(Substring(host)), number)
  }
}
