internal import Authentication
internal import HTTPTypes

/// The addresses of a request's connection.
struct HTTPClient: Hashable, Sendable {
  /// Remote address without port.
  var address: String
  /// Local address without port.
  var localAddress: String = ""
  /// Whether the connection is encrypted.
  var isSecure = false

  /// Whether the request comes from a program on this machine, on its own behalf.
  ///
  /// A proxy on this machine forwards requests of other clients, and adds a header field of ``forwarding``. A page
  /// whose host name was rebound to this machine (DNS rebinding) sends that name in `Host`, so only numeric addresses
  /// and `localhost` count.
  func isOnThisMachine(_ request: HTTPRequest) -> Bool {
    guard self.hasAddressOfThisMachine, !Self.forwarding.contains(where: { request.headerFields[$0] != nil }) else {
      return false
    }
    guard let text = request.authority, !text.isEmpty else { return true }
    guard let authority = Authority(parsing: text) else { return false }
    // A page of another origin has the rights of a remote client.
    if let origin = request.headerFields[.origin], !OriginPolicy.isSame(origin, as: authority) { return false }
    return authority.address != nil || authority.host == "localhost"
  }

  /// The address that counts for failed logins and nonces: the last one that a known proxy forwards, else the connection's.
  ///
  /// A proxy appends the address of its client; addresses before that one can be forged by the client.
  func effectiveAddress(of request: HTTPRequest, proxies: [String]) -> String {
    let own = IPAddress(parsing: self.address)
    guard let own, proxies.contains(where: { IPAddress(parsing: $0) == own }) else { return self.address }
    if let forwarded = request.headerFields[values: .forwarded].last {
      let hop = forwarded.splitOutsideQuotes(UInt8(ascii: ",")).last ?? ""
      for pair in hop.splitOutsideQuotes(UInt8(ascii: ";")) where pair.lowercased().hasPrefix("for=") {
        if let authority = Authority(parsing: String(pair.dropFirst(4)).unquoted()), authority.address != nil {
          return authority.host
        }
      }
      return self.address
    }
    let hop = request.headerFields[values: .xForwardedFor].last?.split(separator: ",").last?.trimmingSpace() ?? ""
    return IPAddress(parsing: hop) != nil ? hop : self.address
  }

  /// Header fields in which proxies name the client.
  private static let forwarding: [HTTPField.Name] = [.via, .forwarded, .xForwardedFor, HTTPField.Name("X-Real-IP")!]

  private var hasAddressOfThisMachine: Bool {
    guard !self.address.isEmpty else { return false }
    return IPAddress(parsing: self.address)?.isLoopback == true || self.address == self.localAddress
  }
}

extension HTTPField.Name {
  // No traps: they are tokens.
  /// RFC 7239 §4.
  fileprivate static let forwarded = HTTPField.Name("Forwarded")!
  fileprivate static let xForwardedFor = HTTPField.Name("X-Forwarded-For")!
}
