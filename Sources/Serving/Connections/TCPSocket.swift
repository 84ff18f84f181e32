internal import CSystemCalls
internal import Libc
package import Media

/// State of a TCP socket that the system knows.
package enum TCPSocket {
  /// Bytes that the peer has not acknowledged; 0 where the system does not say.
  package static func unsentByteCount(of socket: CInt) -> Int {
    var count: CInt = 0
    #if canImport(Darwin)
    var length = socklen_t(MemoryLayout<CInt>.size)
    let result = getsockopt(socket, SOL_SOCKET, SO_NWRITE, &count, &length)
    #else
    let result = ioctl(socket, UInt(TIOCOUTQ), &count)
    #endif
    return result == 0 ? Int(count) : 0
  }

  /// Bytes that have not left yet, without those on their way; on systems that do not distinguish them, both.
  package static func notSentByteCount(of socket: CInt) -> Int {
    #if canImport(Darwin)
    return self.unsentByteCount(of: socket)
    #else
    // SIOCOUTQNSD, which Swift's Glibc module lacks.
    let request = UInt(0x894B)
    var count: CInt = 0
    return ioctl(socket, request, &count) == 0 ? Int(count) : 0
    #endif
  }

  /// Minimum round-trip time of the last minutes; zero where the system does not say.
  package static func minimumRoundTripTime(of socket: CInt) -> MediaDuration {
    .microseconds(Int64(vidicon_tcp_minimum_round_trip_time(socket)))
  }

  /// Makes the connection end when the peer cannot be reached for 30 s, also while nothing is sent: a silent peer is asked for a sign of
  /// life after 5 s, and then five times, each 5 s (RFC 9293 §3.8.4). FFmpeg does not connect again, and goes on after a shorter stall.
  package static func keepAlive(of socket: CInt) {
    func set(_ level: CInt, _ name: CInt, _ value: CInt) {
      var value = value
      // A failure is none of the connection's: its loss is noticed later.
      _ = setsockopt(socket, level, name, &value, socklen_t(MemoryLayout<CInt>.size))
    }
    let protocolLevel = CInt(IPPROTO_TCP)
    set(SOL_SOCKET, SO_KEEPALIVE, 1)
    #if canImport(Darwin)
    set(protocolLevel, TCP_KEEPALIVE, 5)
    #else
    set(protocolLevel, TCP_KEEPIDLE, 5)
    // Also of what is on its way, in place of which nothing else is asked.
    set(protocolLevel, TCP_USER_TIMEOUT, 30_000)
    #endif
    set(protocolLevel, TCP_KEEPINTVL, 5)
    set(protocolLevel, TCP_KEEPCNT, 5)
  }

  /// Makes closing the socket discard what it holds, and reset the connection.
  package static func discardUnsent(of socket: CInt) {
    var option = linger(l_onoff: 1, l_linger: 0)
    _ = setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }
}
