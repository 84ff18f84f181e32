internal import Authentication
internal import HTTPTypes

/// Who asks.
struct HTTPClient: Hashable, Sendable {
  /// The address that the request came from, without the port.
  var address: String
  /// The address of this machine that it came to.
  var localAddress: String = ""

  /// Whether it is a program of this machine, asking for itself.
  ///
  /// A proxy on this machine asks for others, and says so. A page of another server whose name suddenly stands for this
  /// machine (DNS rebinding) asks under that name: so only numeric addresses and `localhost` count.
  func isOnThisMachine(_ request: HTTPRequest) -> Bool {
    guard self.hasAddressOfThisMachine, !Self.forwarding.contains(where: { request.headerFields[$0] != nil }) else {
      return false
    }
    guard let authority = request.authority, !authority.isEmpty else { return true }
    // A page of another server may look at some of it, as from elsewhere.
    if let origin = request.headerFields[.origin], !origin.hasSuffix("://\(authority)") { return false }
    return Self.isNumericOrLocal(host: Self.host(in: authority))
  }

  /// Header fields with which proxies say for whom they ask.
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
