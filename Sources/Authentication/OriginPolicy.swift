/// The web pages that may request and read responses, by the `Origin` of their requests, RFC 6454 §7.
package struct OriginPolicy: Hashable, Sendable {
  /// Origins that may read media, such as `https://example.org`; `*` stands for all.
  private let origins: Set<String>

  /// A policy.
  ///
  /// - Parameter origins: Origins that may read media, such as `https://example.org:8443`; `*` for all.
  package init(origins: [String] = []) {
    self.origins = Set(
      origins.map { origin in
        let origin = origin.lowercased()
        return Origin(parsing: origin).map(\.description) ?? origin
      })
  }

  /// Whether the text is an origin for ``init(origins:)``.
  package static func isOrigin(_ text: String) -> Bool {
    text == "*" || Origin(parsing: text) != nil
  }

  /// Whether the origin is this server itself under the name of the request.
  ///
  /// Schemes are not compared: a proxy may receive `https` and forward `http`.
  package static func isSame(_ origin: String, as authority: Authority) -> Bool {
    guard let origin = Origin(parsing: origin) else { return false }
    guard origin.authority.host == authority.host else { return false }
    let port = authority.port ?? origin.defaultPort
    return (origin.authority.port ?? origin.defaultPort) == port
  }

  /// The value of `Access-Control-Allow-Origin` in responses with media; nil for none.
  package func allowedOrigin(for origin: String?) -> String? {
    if self.origins.contains("*") { return "*" }
    guard let origin, let parsed = Origin(parsing: origin), self.origins.contains(parsed.description) else {
      return nil
    }
    return origin
  }

  /// Whether responses with media depend on `Origin`, for `Vary`.
  package var dependsOnOrigin: Bool { !self.origins.isEmpty && !self.origins.contains("*") }
}

/// An origin, RFC 6454 §6.1: scheme, host and port.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
  package let scheme: String
  package let authority: Authority

  /// Parses `http://HOST[:PORT]` or `https://HOST[:PORT]`; nil for `null` and anything else.
  package init?(parsing text: String) {
    guard let mark = text.firstRange(of: "://") else { return nil }
    let scheme = text[..<mark.lowerBound].lowercased()
    guard scheme == "http" || scheme == "https", let authority = Authority(parsing: String(text[mark.upperBound...]))
    else { return nil }
    self.scheme = scheme
    self.authority = authority
  }

  /// The port that the scheme implies, RFC 9110 §4.2.
  package var defaultPort: UInt16 { self.scheme == "https" ? 443 : 80 }

  /// The origin with its port, for comparison.
  package var description: String {
    "\(self.scheme)://\(self.authority.host):\(self.authority.port ?? self.defaultPort)"
  }
}
