/// The host names under which this server answers HTTP requests.
///
/// DNS rebinding lets a page of any site send requests to this server under the site's own name; a name that only this
/// network can have given stops it.
package struct HostPolicy: Hashable, Sendable {
  /// Domains that no public DNS has: RFC 6762, RFC 8375, ICANN's `internal`, and the custom of home routers.
  private static let privateDomains = ["local", "lan", "home.arpa", "internal"]

  /// Further names, in lower case without a final dot.
  private let names: Set<String>

  /// A policy.
  ///
  /// - Parameter names: The machine's own names, and names under which proxies forward requests.
  package init(names: [String] = []) {
    self.names = Set(names.map { Self.normalized($0) })
  }

  /// Whether a request for this authority is answered: a numeric address, `localhost`, a name without a dot, a name of a
  /// private domain, or one of the further names.
  package func allows(_ authority: Authority) -> Bool {
    if authority.address != nil { return true }
    let name = Self.normalized(authority.host)
    guard name.contains(".") else { return !name.isEmpty }
    return self.names.contains(name) || Self.privateDomains.contains { name.hasSuffix("." + $0) }
  }

  private static func normalized(_ name: String) -> String {
    let name = name.lowercased()
    return name.hasSuffix(".") ? String(name.dropLast()) : name
  }
}

/// Host and port of a `Host` field or URL, RFC 3986 §3.2.
package struct Authority: Hashable, Sendable {
  /// The host in lower case; a numeric IPv6 address without brackets.
  package let host: String
  /// The port; nil when it is absent or empty.
  package let port: UInt16?
  /// The numeric address; nil for a name.
  package let address: IPAddress?

  /// Parses `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`; nil for anything else, user information included.
  package init?(parsing text: String) {
    guard text.utf8.count <= 300 else { return nil }
    let rest: Substring
    if text.utf8.first == UInt8(ascii: "[") {
      guard let end = text.firstIndex(of: "]") else { return nil }
      let digits = text[text.index(after: text.startIndex)..<end]
      guard digits.contains(":"), !digits.contains("%"), let address = IPAddress(parsing: digits) else { return nil }
      self.host = digits.lowercased()
      self.address = address
      rest = text[text.index(after: end)...]
    } else {
      let name = text.prefix { $0 != ":" }
      // The letters of registered names, and the underscore that some devices' names have.
      guard !name.isEmpty,
        name.utf8.allSatisfy({ $0.isDigit || Self.isLetter($0) || "-._".utf8.contains($0) })
      else { return nil }
      self.host = name.lowercased()
      self.address = IPAddress(parsing: name)
      rest = text[name.endIndex...]
    }
    guard !rest.isEmpty else {
      self.port = nil
      return
    }
    guard rest.utf8.first == UInt8(ascii: ":") else { return nil }
    let digits = rest.dropFirst()
    if digits.isEmpty {
      self.port = nil
    } else {
      guard let port = digits.decimal(as: UInt16.self) else { return nil }
      self.port = port
    }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte.lowercasedASCII)
  }
}
