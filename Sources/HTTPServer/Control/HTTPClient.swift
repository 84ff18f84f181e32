internal import Authentication
internal import HTTPTypes

/// The addresses of a request's connection.
struct HTTPClient: Hashable, Sendable {
  /// Remote address without port.
  var address: String
  /// Local address without port.
  var localAddress: String = ""

  /// Whether the request comes from a program on this machine, on its own behalf.
  ///
  /// A proxy on this machine forwards for others, and says so in a header field. A page whose host name was rebound to this
  /// machine (DNS rebinding) sends that name in `Host`; so only numeric addresses and `localhost` count.
  func isOnThisMachine(_ request: HTTPRequest) -> Bool {
    guard self.hasAddressOfThisMachine, !Self.forwarding.contains(where: { request.headerFields[$0] != nil }) else {
      return false
    }
    guard let authority = request.authority, !authority.isEmpty else { return true }
    // A page of another origin has the rights of a remote client.
    if let origin = request.headerFields[.origin], !origin.hasSuffix("://\(authority)") { return false }
    return Self.isNumericOrLocal(host: Self.host(in: authority))
  }

  /// Header fields in which proxies name the client.
  private static let forwarding: [HTTPField.Name] = [
    .via, HTTPField.Name("Forwarded")!, HTTPField.Name("X-Forwarded-For")!, HTTPField.Name("X-Real-IP")!,
  ]

  private var hasAddressOfThisMachine: Bool {
    let address = self.address.hasPrefix("::ffff:") ? self.address.dropFirst(7) : self.address[...]
    return address.hasPrefix("127.") || address == "::1" || (!address.isEmpty && self.address == self.localAddress)
  }

  private static func host(in authority: String) -> Substring {
    if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
      return authority[...end]
    }
    return authority.prefix { $0 != ":" }
  }

  private static func isNumericOrLocal(host: Substring) -> Bool {
    if host.hasPrefix("[") { return true }
    if host.lowercased() == "localhost" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { $0.utf8.count <= 3 && UInt8($0) != nil }
  }
}
