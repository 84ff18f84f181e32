internal import Authentication
internal import CConnectGuard
internal import Libc

/// Refuses connections of libavformat to link-local and cloud metadata addresses, and lets its connections over TCP end when the peer
/// cannot be reached any more: libavformat 5.1 has no option for that, and a silent camera would look like a lost one.
///
/// A check of the URL is not enough: its name can resolve to another address a moment later (DNS rebinding), HTTP and RTSP
/// servers redirect, and playlists name further servers. libavformat has no callback for these, but calls connect(2) for
/// each of them on the calling thread, with the address that packets will go to; the guard decides there.
///
/// Datagrams to an address without a connection, RTP over UDP and SRT, are not covered.
enum ConnectGuard {
  /// Whether connections of libraries are checked on this system.
  static let isEffective = vidicon_connect_guard_is_effective()

  /// Runs a call of libavformat.
  ///
  /// - Parameter isActive: Whether connections are checked.
  /// - Returns: The result, and whether a connection was refused.
  static func run<Result>(isActive: Bool, _ body: () -> Result) -> (result: Result, isRefused: Bool) {
    let refuses: vidicon_connect_rule = { address, length in
      address.flatMap { IPAddress($0, length: length) }?.isLinkLocalOrMetadata ?? false
    }
    vidicon_connect_guard_begin(isActive ? refuses : nil)
    let result = body()
    return (result, vidicon_connect_guard_end() > 0)
  }
}

extension IPAddress {
  /// The address of a socket; nil for other families than IPv4 and IPv6.
  init?(_ address: UnsafePointer<sockaddr>, length: socklen_t) {
    let bytes = UnsafeRawBufferPointer(start: address, count: Int(length))
    switch Int32(address.pointee.sa_family) {
    case AF_INET where bytes.count >= MemoryLayout<sockaddr_in>.size:
      self = .v4(UInt32(bigEndian: bytes.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
    case AF_INET6 where bytes.count >= MemoryLayout<sockaddr_in6>.size:
      let groups = bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr
      self = withUnsafeBytes(of: groups) { groups in
        .v6(
          UInt64(bigEndian: groups.loadUnaligned(as: UInt64.self)),
          UInt64(bigEndian: groups.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
      }
    default: return nil
    }
  }
}
