internal import Authentication
internal import Libc

extension IPAddress {
  /// The addresses of a host name, or a numeric address itself; none where the name is not known. Blocks.
  static func addresses(of host: String) -> [IPAddress] {
    if let address = IPAddress(parsing: host) { return [address] }
    var hints = addrinfo()
    #if canImport(Darwin)
    hints.ai_socktype = SOCK_STREAM
    #else
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #endif
    var first: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
    defer { freeaddrinfo(first) }
    return sequence(first: first, next: { $0?.pointee.ai_next }).compactMap { entry in
      entry.flatMap { IPAddress($0.pointee.ai_addr, length: $0.pointee.ai_addrlen) }
    }
  }

  /// The addresses of this machine's interfaces.
  static var ofThisMachine: [IPAddress] {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return [] }
    defer { freeifaddrs(first) }
    return sequence(first: first, next: { $0?.pointee.ifa_next }).compactMap { entry in
      guard let address = entry?.pointee.ifa_addr else { return nil }
      let isIPv6 = Int32(address.pointee.sa_family) == AF_INET6
      return IPAddress(
        address, length: socklen_t(isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size))
    }
  }

  /// The address of a socket; nil for other families than IPv4 and IPv6.
  private init?(_ address: UnsafePointer<sockaddr>?, length: socklen_t) {
    guard let address, [AF_INET, AF_INET6].contains(Int32(address.pointee.sa_family)) else { return nil }
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    guard getnameinfo(address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else { return nil }
    self.init(parsing: String(decoding: text.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self))
  }
}
