import CDatagrams
import Media
import NIOCore
import RTP
import Serving
import Testing

@testable import RTSPServer

/// Packets of the tracks of ``EmbeddedServer``.
private struct PacketSource {
  private var tracks = RTPStreamPacketizer(EmbeddedServer.descriptions)

  mutating func packets(_ kind: MediaKind, isKeyframe: Bool = false) throws -> SharedPackets {
    let sample = EncodedSample(
      kind: kind, payload: ByteBuffer(bytes: [0, 0, 0, 2, isKeyframe ? 0x65 : 0x41, 0x80]), presentationTime: .zero,
      duration: .milliseconds(20), isKeyframe: isKeyframe || kind == .audio)
    let batch = try #require(self.tracks.packetize(sample).first)
    return SharedPackets(kind: kind, batch: batch, positions: self.tracks.positions(at: .zero))
  }
}

private func time(_ milliseconds: Int64) -> MediaTime { .zero + .milliseconds(milliseconds) }

@Suite("Datagrams that wait for the send buffer")
struct DatagramQueueTests {
  private var source = PacketSource()
  /// The destinations of two viewers.
  private static func viewers() throws -> [vidicon_destination] {
    try [6000, 6002].map { vidicon_destination(try SocketAddress(ipAddress: "127.0.0.1", port: $0)) }
  }

  /// Sends up to a number of datagrams of one packet each; returns the lengths of their addresses.
  private func transmit(_ count: inout Int, _ send: inout DatagramQueue.Send) -> [Int32] {
    var lengths: [Int32] = []
    while count > 0, !send.isComplete {
      lengths.append(Int32(send.destinations[send.position.destination].length))
      send.position.destination += 1
      count -= 1
    }
    return lengths
  }

  @Test mutating func `what a full send buffer keeps waiting is sent in order, from the viewer that is next`() throws {
    var queue = DatagramQueue()
    let viewers = try Self.viewers()
    _ = queue.append(try self.source.packets(.audio), to: viewers, at: time(0))
    _ = queue.append(try self.source.packets(.audio), to: viewers, at: time(20))
    var (room, log) = (3, [Int32]())
    #expect(!queue.drain { log += self.transmit(&room, &$0) })
    #expect(log.count == 3 && !queue.isEmpty)
    room = 5
    #expect(queue.drain { log += self.transmit(&room, &$0) })
    #expect(log.count == 4 && queue.isEmpty)
  }

  @Test mutating func `datagrams that wait for a second are dropped and counted, and video up to the next keyframe`()
    throws
  {
    var queue = DatagramQueue()
    let viewers = try Self.viewers()
    _ = queue.append(try self.source.packets(.video, isKeyframe: true), to: viewers, at: time(0))
    var room = 1
    _ = queue.drain { _ = self.transmit(&room, &$0) }
    #expect(queue.append(try self.source.packets(.video), to: viewers, at: time(999)) == .init())
    // Two packets of the keyframe for one viewer, one of the frame for two; one of the current frame for two.
    let overflow = queue.append(try self.source.packets(.video), to: viewers, at: time(1000))
    #expect(overflow == .init(dropped: 2 + 2 + 2, needsKeyframe: true))
    #expect(queue.isEmpty)
    #expect(queue.append(try self.source.packets(.audio), to: viewers, at: time(1001)) == .init())
    #expect(queue.append(try self.source.packets(.video), to: viewers, at: time(1002)) == .init(dropped: 2))
    #expect(
      queue.append(try self.source.packets(.video, isKeyframe: true), to: viewers, at: time(1003)) == .init())
    #expect(queue.append(try self.source.packets(.video), to: viewers, at: time(1004)) == .init())
  }

  @Test mutating func `video that waits is discarded when it must not be shown, audio stays`() throws {
    var queue = DatagramQueue()
    let viewers = try Self.viewers()
    _ = queue.append(try self.source.packets(.video), to: viewers, at: time(0))
    _ = queue.append(try self.source.packets(.audio), to: viewers, at: time(0))
    queue.discardVideo()
    var kinds: [MediaKind] = []
    _ = queue.drain {
      kinds.append($0.packets.kind)
      $0.position.destination = 2
    }
    #expect(kinds == [.audio])
  }

  @Test mutating func `a viewer that has left is skipped`() throws {
    var queue = DatagramQueue()
    let viewers = try Self.viewers()
    _ = queue.append(try self.source.packets(.audio), to: viewers, at: time(0))
    queue.remove(viewers[0])
    var (room, log) = (2, [Int32]())
    _ = queue.drain { log += self.transmit(&room, &$0) }
    #expect(log == [0, Int32(viewers[1].length)])
  }
}

@Suite("Bytes of a delivery for a connection")
struct SharedDeliveryTests {
  @Test func `audio precedes the access unit, and each pair of channels is built once`() throws {
    var source = PacketSource()
    let (audio, video) = (try source.packets(.audio), try source.packets(.video))
    let delivery = RTPDelivery(number: 1, audio: [audio], video: video)
    var expected = audio.interleaved(channel: 2)
    expected.writeImmutableBuffer(video.interleaved(channel: 0))
    let built = try #require(delivery.interleaved(channels: .init(video: 0, audio: 2)))
    #expect(built == expected)
    let again = try #require(delivery.interleaved(channels: .init(video: 0, audio: 2)))
    let addresses = [built, again].map { $0.withUnsafeReadableBytes { $0.baseAddress } }
    #expect(addresses[0] == addresses[1])
    #expect(delivery.interleaved(channels: .init(video: 4)) == video.interleaved(channel: 4))
    #expect(delivery.interleaved(channels: .init()) == nil)
  }

  @Test func `deliveries of one turn are one buffer for each pair of channels, without tracks that have none`() throws {
    var source = PacketSource()
    let deliveries = try (1...3).map {
      RTPDelivery(number: $0, audio: [try source.packets(.audio)], video: $0 == 2 ? nil : try source.packets(.video))
    }
    var batch = InterleavedBatch(deliveries)
    for channels in [InterleavedChannels(video: 0, audio: 2), .init(video: 4), .init(audio: 1)] {
      var expected = ByteBuffer()
      for delivery in deliveries {
        if var part = delivery.interleaved(channels: channels) { expected.writeBuffer(&part) }
      }
      let buffers = [batch.buffer(channels: channels), batch.buffer(channels: channels)]
      #expect(buffers == [expected, expected] && expected.readableBytes > 0)
      let addresses = buffers.map { $0?.withUnsafeReadableBytes { $0.baseAddress } }
      #expect(addresses[0] == addresses[1], "the bytes are built once")
    }
    let none = batch.buffer(channels: .init())
    var single = InterleavedBatch([deliveries[1]])
    let withoutAccessUnit = single.buffer(channels: .init(video: 0))
    #expect(none == nil && withoutAccessUnit == nil)
  }
}
