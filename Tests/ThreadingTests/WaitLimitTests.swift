import Foundation
import TestSupport
import Testing

@Suite("Limit of waits of tests")
struct WaitLimitTests {
  @Test func `a socket gives up a read and a write after five minutes`() throws {
    var sockets: [CInt] = [-1, -1]
    #if canImport(Darwin)
    let kind = SOCK_STREAM
    #else
    let kind = CInt(SOCK_STREAM.rawValue)
    #endif
    try #require(socketpair(AF_UNIX, kind, 0, &sockets) == 0)
    defer { for socket in sockets { close(socket) } }
    WaitLimit.apply(to: sockets[0])
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      var (limit, length) = (timeval(), socklen_t(MemoryLayout<timeval>.size))
      try #require(getsockopt(sockets[0], SOL_SOCKET, option, &limit, &length) == 0)
      #expect(limit.tv_sec == 300 && limit.tv_usec == 0)
    }
  }
}
