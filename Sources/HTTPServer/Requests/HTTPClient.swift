internal import Authentication
package import HTTPTypes

/// The addresses of a request's connection.
package struct HTTPClient: Hashable, Sendable {
  /// Remote address without port.
  package var address: String
  /// Local address without port.
  package var localAddress: String = ""
  /// Whether the connection is encrypted.
  var isSecure = false

  /// Creates the addresses of a connection; that of this machine may be left out.
  package init(address: String, localAddress: String = "", isSecure: Bool = false) {
    self.address = address
    self.localAddress = localAddress
    self.isSecure = isSecure
  }

  /// Whether the request comes from a program on this machine, on its own behalf.
  ///
  /// A proxy on this machine forwards requests of other clients, and adds a header field of ``forwarding``. A page
  /// whose host name was rebound to this machine (DNS rebinding) sends that name in `Host`, so only numeric addresses
  /// and `localhost` count.
  package func isOnThisMachine(_ request: HTTPRequest) -> Bool {
    guard self.hasAddressOfThisMachine, !request.headerFields.contains(where: { Self.forwarding.contains($0.name) })
    else {
      return false
    }
    guard let text = request.authority, !text.isEmpty else { return true }
    guard let authority = Authority(parsing: text) else { return false }
    // A page of another origin has the rights of a remote client.
    if let origin = request.headerFields[.origin], !OriginPolicy.isSame(origin, as: authority) { return false }
    return authority.address != nil || authority.host == "localhost"
  }

  /// Whether the client's connection is encrypted: this one, or that to a known proxy, which says so in `X-Forwarded-Proto`. A
  /// client that forges the field deceives itself only.
  package func isSecure(_ request: HTTPRequest, proxies: [String]) -> Bool {
    if self.isSecure { return true }
    guard self.isAmong(proxies) else { return false }
    return request.headerFields[values: .xForwardedProto].last?.equalsIgnoringCase("https") == true
  }

  /// The address that counts for failed logins and nonces: the last one that a known proxy forwards, else the connection's.
  ///
  /// A proxy appends the address of its client; addresses before that one can be forged by the client. Most proxies append to
  /// one of the two fields and pass on the other as the client sent it, so that the connection's address counts where the
  /// fields differ.
  package func effectiveAddress(of request: HTTPRequest, proxies: [String]) -> String {
    guard self.isAmong(proxies) else { return self.address }
    let fields = request.headerFields
    let hops = [
      fields[values: .forwarded].last.map(Self.forwardedHop),
      fields[values: .xForwardedFor].last.map { Self.address($0.split(separator: ",").last?.trimmingSpace() ?? "") },
    ].compactMap(\.self)
    guard let first = hops.first, let address = first,
      hops.allSatisfy({ $0.flatMap { IPAddress(parsing: $0) } == IPAddress(parsing: address) })
    else { return self.address }
    return address
  }

  /// Path of the server's root at a known proxy, in the form of ``HTTPTarget/prefix(parsing:)``; nil where the proxy names none, or
  /// several that differ.
  ///
  /// `X-Forwarded-Prefix` is the field of Traefik and others, `X-Ingress-Path` that of Home Assistant; no standard has one.
  package func forwardedPrefix(of request: HTTPRequest, proxies: [String]) -> String? {
    guard self.isAmong(proxies) else { return nil }
    let fields = request.headerFields
    let paths = (fields[values: .xForwardedPrefix] + fields[values: .xIngressPath]).map(HTTPTarget.prefix(parsing:))
    guard let first = paths.first, paths.allSatisfy({ $0 == first }) else { return nil }
    return first
  }

  /// Authority of the client's request to a known proxy, which forwards another `Host`; nil unless `X-Forwarded-Host` has just one.
  func forwardedAuthority(of request: HTTPRequest, proxies: [String]) -> Authority? {
    guard self.isAmong(proxies) else { return nil }
    let hosts = request.headerFields[values: .xForwardedHost]
    return hosts.count == 1 ? Authority(parsing: hosts[0]) : nil
  }

  private func isAmong(_ proxies: [String]) -> Bool {
    // Most servers have none, and each request asks.
    guard !proxies.isEmpty, let own = IPAddress(parsing: self.address) else { return false }
    return proxies.contains { IPAddress(parsing: $0) == own }
  }

  /// The address of the last element of `Forwarded`, RFC 7239 §4; nil where it is hidden.
  private static func forwardedHop(_ field: String) -> String? {
    let hop = field.splitOutsideQuotes(UInt8(ascii: ",")).last ?? ""
    for pair in hop.splitOutsideQuotes(UInt8(ascii: ";")) where pair.lowercased().hasPrefix("for=") {
      return Self.address(String(pair.dropFirst(4)).unquoted())
    }
    return nil
  }

  /// The address of a hop, which may have a port; nil where it is none.
  private static func address(_ hop: String) -> String? {
    if IPAddress(parsing: hop) != nil { return hop }
    guard let authority = Authority(parsing: hop), authority.address != nil else { return nil }
    return authority.host
  }

  /// Header fields in which proxies name the client.
  private static let forwarding = Set<HTTPField.Name>(
    [.via, .forwarded, .xForwardedFor]
      + [
        "X-Real-IP", "X-Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Server",
        "X-Forwarded-Prefix", "X-Ingress-Path",
        "X-Client-IP", "X-Cluster-Client-IP", "X-Original-Forwarded-For", "CF-Connecting-IP", "True-Client-IP",
        "Fastly-Client-IP",
      ].map { HTTPField.Name($0)! })  // No traps: they are tokens.

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
  fileprivate static let xForwardedProto = HTTPField.Name("X-Forwarded-Proto")!
  fileprivate static let xForwardedHost = HTTPField.Name("X-Forwarded-Host")!
  fileprivate static let xForwardedPrefix = HTTPField.Name("X-Forwarded-Prefix")!
  fileprivate static let xIngressPath = HTTPField.Name("X-Ingress-Path")!
}
