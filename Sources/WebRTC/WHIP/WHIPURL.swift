public import Authentication
public import Media

/// The address of a WHIP endpoint or session at another server: `whip+https://HOST[:PORT]/PATH[?QUERY]`, RFC 9725.
///
/// Path and query are secrets, since servers have stream keys there: no description shows them.
public struct WHIPURL: Hashable, Sendable {
  /// Whether HTTP is encrypted: `whip+https`.
  public var isEncrypted: Bool
  /// The host, an IPv6 address without brackets.
  public var host: String
  /// The port, 1 to 65,535; 443 by default, 80 without encryption.
  public var port: UInt16
  /// Path with its query, beginning with a slash.
  public var target: Secret

  /// Maximum length of a URL, in bytes.
  package static let maximumLength = 2048

  /// Parses a URL of the owner.
  ///
  /// - Throws: `.unsupported` for another scheme than `whip+https` and `whip+http`, `.invalid` for a malformed host or port, for a user
  ///   before the host, and for signs that a URL cannot have. No error contains the path.
  public init(parsing text: String) throws(ParsingError) {
    guard let prefix = text.utf8.firstIndex(of: UInt8(ascii: "+")),
      Substring(text.utf8[..<prefix]).lowercased() == "whip"
    else { throw ParsingError(.unsupported, field: "scheme", offset: 0) }
    self = try Self(http: String(text[text.utf8.index(after: prefix)...]))
  }

  /// Parses a URL of HTTP.
  init(http text: String) throws(ParsingError) {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    switch parts.first.map({ Substring($0).lowercased() }) {
    case "https": self.isEncrypted = true
    case "http": self.isEncrypted = false
    default: throw ParsingError(.unsupported, field: "scheme", offset: 0)
    }
    guard parts.count == 2, parts[1].starts(with: "//".utf8), Self.isVisible(text) else {
      throw ParsingError(.invalid, field: "URL")
    }
    let rest = parts[1].dropFirst(2)
    let end = rest.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
    let authority = try URLAuthority(of: rest[..<end], defaultPort: self.isEncrypted ? 443 : 80)
    (self.host, self.port) = (authority.host, authority.port)
    self.target = Secret(Self.target(Substring(rest[end...])))
  }

  /// The URL that a `Location` names, relative to this one, RFC 3986 §5.
  ///
  /// - Returns: nil for a malformed one, and for one without encryption where this one is encrypted.
  package func resolved(_ location: String) -> WHIPURL? {
    guard location.utf8.count <= Self.maximumLength, Self.isVisible(location), !location.isEmpty else { return nil }
    var url = self
    let first = location.utf8.prefix { !"/?#".utf8.contains($0) }
    if first.contains(UInt8(ascii: ":")) {
      guard let absolute = try? WHIPURL(http: location) else { return nil }
      url = absolute
    } else if location.hasPrefix("//") {
      guard let absolute = try? WHIPURL(http: (self.isEncrypted ? "https:" : "http:") + location) else { return nil }
      url = absolute
    } else if location.hasPrefix("/") {
      url.target = Secret(Self.target(location[...]))
    } else {
      let path = self.target.text.prefix { $0 != "?" }
      let folder = location.hasPrefix("?") ? path : path[...(path.lastIndex(of: "/") ?? path.startIndex)]
      url.target = Secret(Self.target(Substring(String(folder) + location)))
    }
    return self.isEncrypted && !url.isEncrypted ? nil : url
  }

  /// Whether two URLs have the same scheme, host and port, RFC 6454.
  package func hasOrigin(of other: WHIPURL) -> Bool {
    self.isEncrypted == other.isEncrypted && self.host.lowercased() == other.host.lowercased()
      && self.port == other.port
  }

  /// Host and port as in `Host`.
  package var authority: String {
    URLAuthority.text(host: self.host, port: self.port, defaultPort: self.isEncrypted ? 443 : 80)
  }

  /// The URL up to the port, for users.
  public var address: String { "whip+\(self.isEncrypted ? "https" : "http")://\(self.authority)" }

  /// Path and query without a fragment and without segments of dots.
  private static func target(_ text: Substring) -> String {
    let text = text.prefix { $0 != "#" }
    let path = text.prefix { $0 != "?" }
    var segments: [Substring] = []
    for segment in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(path.isEmpty ? 0 : 1) {
      switch segment {
      case ".": continue
      case "..": _ = segments.popLast()
      default: segments.append(segment)
      }
    }
    // A path that ends with dots names a folder.
    if path.hasSuffix("/.") || path.hasSuffix("/..") { segments.append("") }
    return "/" + segments.joined(separator: "/") + text[path.endIndex...]
  }

  /// Whether a text has visible ASCII characters only: others could end a line of HTTP.
  private static func isVisible(_ text: String) -> Bool { text.utf8.allSatisfy { (0x21...0x7E).contains($0) } }
}

extension WHIPURL: CustomStringConvertible {
  /// The ``address``, without path and query.
  public var description: String { self.address }
}
