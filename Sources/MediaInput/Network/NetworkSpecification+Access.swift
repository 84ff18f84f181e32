internal import Authentication

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
