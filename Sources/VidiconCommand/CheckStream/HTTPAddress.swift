import Authentication

/// Address of a resource of HTTP that a check requests. Path and query may be secrets, as tokens are.
package struct HTTPAddress: Equatable, Sendable {
  /// Whether HTTP is encrypted: `https`.
  var isEncrypted: Bool
  /// Host, an IPv6 address without brackets.
  var host: String
  /// Port of TCP.
  var port: Int
  /// Path with its query, beginning with a slash.
  var target: String

  /// An address; nil for text that is none of HTTP.
  ///
  /// - Parameter text: The URL without user and password.
  package init?(parsing text: String) {
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let mark = text.firstRange(of: "://") else {
      return nil
    }
    switch text[..<mark.lowerBound].lowercased() {
    case "http": self.isEncrypted = false
    case "https": self.isEncrypted = true
    default: return nil
    }
    let rest = text[mark.upperBound...].prefix { $0 != "#" }
    let end = rest.firstIndex { "/?".contains($0) } ?? rest.endIndex
    guard let authority = try? URLAuthority(of: rest[..<end].utf8, defaultPort: self.isEncrypted ? 443 : 80) else {
      return nil
    }
    (self.host, self.port) = (authority.host, Int(authority.port))
    self.target = rest[end...].hasPrefix("/") ? String(rest[end...]) : "/\(rest[end...])"
  }

  /// Host and port as in `Host`.
  var authority: String {
    URLAuthority.text(
      host: self.host, port: UInt16(clamping: self.port), defaultPort: self.isEncrypted ? 443 : 80)
  }

  /// Path without its query.
  var path: Substring { self.target.prefix { $0 != "?" } }

  /// The last component of the path, for messages: names of files are no secrets, queries may be.
  var name: String { String(self.path.split(separator: "/").last ?? "/") }

  /// The address that a reference names, relative to this one, RFC 3986 §5.2; nil for one of another scheme, and for one that
  /// leads from HTTPS to HTTP.
  package func resolved(_ reference: String) -> HTTPAddress? {
    guard reference.utf8.count <= 4096, reference.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
    var address = self
    if reference.firstRange(of: "://") != nil, reference.prefix(while: { $0 != "/" && $0 != "?" }).last == ":" {
      guard let absolute = HTTPAddress(parsing: reference) else { return nil }
      address = absolute
    } else if reference.hasPrefix("//") {
      guard let absolute = HTTPAddress(parsing: (self.isEncrypted ? "https:" : "http:") + reference) else { return nil }
      address = absolute
    } else if reference.hasPrefix("/") {
      address.target = String(reference.prefix { $0 != "#" })
    } else {
      let folder =
        reference.hasPrefix("?") ? self.path : self.path[...(self.path.lastIndex(of: "/") ?? self.path.startIndex)]
      address.target = Self.withoutDots(String(folder) + reference.prefix { $0 != "#" })
    }
    return self.isEncrypted && !address.isEncrypted ? nil : address
  }

  /// A path with its query without segments of dots, RFC 3986 §5.2.4.
  private static func withoutDots(_ target: String) -> String {
    let path = target.prefix { $0 != "?" }
    var segments: [Substring] = []
    for segment in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
      if segment == ".." { _ = segments.popLast() } else if segment != "." { segments.append(segment) }
    }
    if path.hasSuffix("/.") || path.hasSuffix("/..") { segments.append("") }
    return "/" + segments.joined(separator: "/") + target[path.endIndex...]
  }

  /// Whether both have the same scheme, host and port, RFC 6454: a password goes to no other.
  func hasOrigin(of other: HTTPAddress) -> Bool {
    self.isEncrypted == other.isEncrypted && self.host.lowercased() == other.host.lowercased()
      && self.port == other.port
  }
}
