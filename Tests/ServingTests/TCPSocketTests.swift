import Foundation
import Media
import Serving
import TestSupport
import Testing

@Suite("State of TCP sockets that the system knows")
struct TCPSocketTests {
  @Test func `bytes that the peer does not read are unsent, at most those that were written, until it reads them`()
    async throws
  {
    let pair = try LoopbackPair()
    #expect(TCPSocket.unsentByteCount(of: pair.client) == 0)
    let written = pair.fill()
    let unsent = TCPSocket.unsentByteCount(of: pair.client)
    #expect(unsent > 0 && unsent <= written, "\(unsent) of \(written) bytes")
    #expect((0...unsent).contains(TCPSocket.notSentByteCount(of: pair.client)))
    pair.drain(written)
    try await eventually { TCPSocket.unsentByteCount(of: pair.client) == 0 }
    #expect(TCPSocket.notSentByteCount(of: pair.client) == 0)
  }

  @Test func `of what is no socket nothing is unsent, and no time is known`() {
    #expect(TCPSocket.unsentByteCount(of: -1) == 0 && TCPSocket.notSentByteCount(of: -1) == 0)
    #expect(TCPSocket.minimumRoundTripTime(of: -1) == .zero)
  }

  #if os(Linux)
  @Test func `the minimum round-trip time of loopback is measured, and less than 50 ms`() throws {
    let pair = try LoopbackPair()
    // The handshake was a round trip.
    let time = TCPSocket.minimumRoundTripTime(of: pair.client)
    #expect(time > .zero)
    #expect(onQuietMachine(time < .milliseconds(50)))
  }
  #endif
}
