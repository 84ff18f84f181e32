import Authentication
import Media

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

  /// The address of a resource below this one, with the query of this one.
  func appending(_ name: String) -> HTTPAddress {
    var address = self
    let (path, query) = (self.path, self.target[self.path.endIndex...])
    address.target = "\(path)\(path.hasSuffix("/") ? "" : "/")\(name)\(query)"
    return address
  }

  /// The last component of the path, for messages: names of files are no secrets, queries may be.
  var name: String { String(self.path.split(separator: "/").last ?? "/") }

  /// The address that a reference names, as ``address(of:)``; nil also for one that leads from HTTPS to HTTP.
  package func resolved(_ reference: String) -> HTTPAddress? {
    guard let address = self.address(of: reference), address.isEncrypted || !self.isEncrypted else { return nil }
    return address
  }

  /// The address that a reference names, relative to this one, RFC 3986 §5.2; nil for one of another scheme, and for one with control
  /// characters. Characters that a URL does not have, such as spaces and umlauts, are encoded.
  func address(of text: String) -> HTTPAddress? {
    guard text.utf8.count <= 4096, let reference = Self.encoded(text) else { return nil }
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
    return address
  }

  /// A reference with percent-encoded bytes for those that a URL does not have, RFC 3986 §2.1, and without spaces around it; nil for one
  /// with control characters.
  private static func encoded(_ text: String) -> String? {
    let bytes = text.trimmingSpace().utf8
    guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
    var reference: [UInt8] = []
    for byte in bytes {
      if (0x21...0x7E).contains(byte) {
        reference.append(byte)
      } else {
        reference.append(UInt8(ascii: "%"))
        reference += Hexadecimal.encode([byte], uppercase: true).utf8
      }
    }
    return String(decoding: reference, as: UTF8.self)
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

  /// Whether a password for another address may go to this one: to that of the same scheme, host and port, RFC 6454, and to that of the
  /// same host over TLS in place of none.
  func getsPassword(of other: HTTPAddress) -> Bool {
    guard self.host.lowercased() == other.host.lowercased() else { return false }
    return self.isEncrypted == other.isEncrypted ? self.port == other.port : self.isEncrypted
  }
}
