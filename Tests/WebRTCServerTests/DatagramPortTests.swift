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
    // Safe because the tests that call this have a time limit.
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
    #expect(received.compactMap { $0.0.readableBytesView.first } == [0, 1, 2, 3, 4, 5, 6])
    var source = TransportAddress(ip: address, port: port)
    // The address that they were sent to.
    source.localIP = address
    #expect(received.allSatisfy { $0.1 == source })
  }

  /// Addresses that the port is bound to, and addresses of this machine that clients ask.
  @Test(
    .timeLimit(.minutes(5)),
    arguments: [
      ("0.0.0.0", ["127.0.0.1", "127.0.0.2", "127.0.0.3"]), ("::", ["127.0.0.2", "::1", "127.0.0.1"]),
      ("127.0.0.2", ["127.0.0.2"]), ("::1", ["::1"]),
    ])
  func `each datagram is answered from the address that was asked`(bound: String, asked: [String]) async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let (questions, asking) = AsyncStream<TransportAddress>.makeStream()
    let port = try await DatagramPort.open(
      address: bound, port: 0, on: loop, receive: { asking.yield($1) }, receiveEnded: {})
    var waiting = questions.makeAsyncIterator()
    for text in asked {
      let ip = try #require(IPAddress(parsing: text))
      let (answers, answering) = AsyncStream<TransportAddress>.makeStream()
      let client = try await DatagramPort.open(
        address: text.contains(":") ? "::1" : "127.0.0.1", port: 0, on: loop,
        receive: { answering.yield($1) }, receiveEnded: {})
      try await loop.submit {
        var batch = DatagramBatch()
        batch.append(ByteBuffer(string: "?"), to: TransportAddress(ip: ip, port: port.port))
        #expect(client.send(batch) == .init())
      }.get()
      let source = try #require(await waiting.next())
      #expect(source.localIP == ip && source.port == client.port)
      try await loop.submit {
        var batch = DatagramBatch()
        // Two of equal length: one message for segmentation offload.
        for _ in 0..<2 { batch.append(ByteBuffer(string: "!"), to: source) }
        #expect(port.send(batch) == .init())
      }.get()
      var iterator = answers.makeAsyncIterator()
      for _ in 0..<2 {
        let answer = try #require(await iterator.next())
        #expect(answer.ip == ip && answer.port == port.port, "\(answer)")
      }
      await client.close()
    }
    await port.close()
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
