import CDatagrams
import NIOCore
import Testing

@testable import RTSPServer

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

@Suite("Datagrams in batches")
struct DatagramsTests {
  /// A pair of sockets on neighbouring ports of the loopback, closed at the end.
  private func withPair(_ body: (_ sockets: [Int32], _ ports: [UInt16]) throws -> Void) rethrows {
    var sockets: [Int32] = [-1, -1]
    var ports: [UInt16] = [0, 0]
    #expect(vidicon_datagrams_open_pair("127.0.0.1", &sockets, &ports) == 0)
    defer { for socket in sockets { close(socket) } }
    try body(sockets, ports)
  }

  private func receive(_ socket: Int32) -> [[UInt8]] {
    var datagrams: [[UInt8]] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      if count < 0 { return datagrams }
      datagrams.append(Array(buffer.prefix(count)))
    }
  }

  @Test func `a socket pair has an even port and the next`() {
    self.withPair { _, ports in
      #expect(ports[0].isMultiple(of: 2) && ports[1] == ports[0] + 1)
    }
  }

  @Test func `a malformed address is an error`() {
    var sockets: [Int32] = [-1, -1]
    var ports: [UInt16] = [0, 0]
    #expect(vidicon_datagrams_open_pair("nowhere", &sockets, &ports) != 0)
  }

  @Test(arguments: [true, false])
  func `runs of datagrams arrive at each destination, with and without segmentation offload`(offload: Bool) throws {
    try self.withPair { sockets, ports in
      try self.withPair { receivers, receiverPorts in
        let bytes = (0..<2500).map { UInt8(truncatingIfNeeded: $0) }
        let runs = [
          vidicon_datagram_run(offset: 0, length: 100, segment_length: 100),
          vidicon_datagram_run(offset: 100, length: 2400, segment_length: 1000),
        ]
        let destinations = try receiverPorts.map {
          vidicon_destination(try SocketAddress(ipAddress: "127.0.0.1", port: Int($0)))
        }
        var usesOffload = offload
        _ = vidicon_datagrams_send(sockets[0], bytes, runs, 2, destinations, 2, &usesOffload)
        let expected = [bytes[0..<100], bytes[100..<1100], bytes[1100..<2100], bytes[2100..<2500]].map(Array.init)
        for receiver in receivers { #expect(self.receive(receiver) == expected) }
      }
    }
  }
}
