import Authentication
import Media
import NIOCore
import NIOPosix
import Synchronization
import Testing
import WebRTC

@testable import WebRTCServer

@Suite("The UDP port of all sessions")
struct DatagramPortTests {
  /// Sends batches from one port to another, and returns what arrives.
  private func exchange(
    from: String, to: String, ip: IPAddress, _ lengths: [Int]
  ) async throws -> (received: [(ByteBuffer, TransportAddress)], sender: UInt16) {
    let group = MultiThreadedEventLoopGroup.singleton
    let (stream, continuation) = AsyncStream<(ByteBuffer, TransportAddress)>.makeStream()
    let receiver = try await DatagramPort.open(
      address: to, port: 0, on: group.next(), receive: { continuation.yield(($0, $1)) }, receiveEnded: {})
    let loop = group.next()
    let sender = try await DatagramPort.open(
      address: from, port: 0, on: loop, receive: { _, _ in }, receiveEnded: {})
    let target = TransportAddress(ip: ip, port: receiver.port)
    try await loop.submit {
      var batch = DatagramBatch()
      for (index, length) in lengths.enumerated() {
        batch.append(ByteBuffer(repeating: UInt8(index), count: length), to: target)
      }
      let outcome = sender.send(batch)
      #expect(outcome == .init())
    }.get()
    var received: [(ByteBuffer, TransportAddress)] = []
    for await datagram in stream {
      received.append(datagram)
      if received.count == lengths.count { break }
    }
    await receiver.close()
    await sender.close()
    return (received, sender.port)
  }

  @Test(
    .timeLimit(.minutes(5)),
    arguments: [
      ("127.0.0.1", "127.0.0.1", "127.0.0.1"), ("::", "127.0.0.1", "127.0.0.1"), ("::1", "::1", "::1"),
      ("127.0.0.1", "::", "127.0.0.1"),
    ])
  func `datagrams of a batch arrive whole, and from an address of their family`(
    from: String, to: String, ip: String
  ) async throws {
    let address = try #require(IPAddress(parsing: ip))
    let lengths = [100, 1000, 1000, 1000, 700, 700, 5]
    let (received, port) = try await self.exchange(from: from, to: to, ip: address, lengths)
    #expect(received.map(\.0.readableBytes) == lengths)
    #expect(received.map { $0.0.readableBytesView.first } == (0..<7).map { UInt8($0) })
    #expect(received.allSatisfy { $0.1 == TransportAddress(ip: address, port: port) })
  }

  @Test func `a port in use is reported with what to do`() async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let port = try await DatagramPort.open(
      address: "127.0.0.1", port: 0, on: loop, receive: { _, _ in }, receiveEnded: {})
    do {
      _ = try await DatagramPort.open(
        address: "127.0.0.1", port: Int(port.port), on: loop, receive: { _, _ in }, receiveEnded: {})
      Issue.record("the port is in use")
    } catch {
      #expect(error.code == .portInUse && error.description.contains("--webrtc-port"))
    }
    await port.close()
  }
}
