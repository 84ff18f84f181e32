import CDatagrams
import Media
import NIOCore
import RTP
import Testing

@testable import RTSPServer

/// Packets of the tracks of ``EmbeddedServer``.
private struct PacketSource {
  private var tracks = RTPTracks(EmbeddedServer.descriptions)

  mutating func packets(_ kind: MediaKind, isKeyframe: Bool = false) throws -> SharedPackets {
    let sample = EncodedSample(
      kind: kind, payload: ByteBuffer(bytes: [0, 0, 0, 2, isKeyframe ? 0x65 : 0x41, 0x80]), presentationTime: .zero,
      duration: .milliseconds(20), isKeyframe: isKeyframe || kind == .audio)
    let batch = try #require(self.tracks.packetize(sample).first)
    return SharedPackets(kind: kind, batch: batch, positions: self.tracks.positions(at: .zero))
  }
}

private func time(_ milliseconds: Int64) -> MediaTime { .zero + .milliseconds(milliseconds) }

@Suite("Audio that waits for the next access unit")
struct DeliveryAssemblerTests {
  private var source = PacketSource()

  @Test(arguments: zip([30, 60, 10, 25] as [Int32], [33_333_333, 20_000_000, 40_000_000, 40_000_000] as [Int64]))
  func `audio waits for one frame interval, at least 20 and at most 40 ms`(rate: Int32, nanoseconds: Int64) {
    let assembler = DeliveryAssembler(frameRate: FrameRate(rate))
    #expect(assembler.maximumWait == MediaDuration(nanoseconds: nanoseconds))
  }

  @Test mutating func `an access unit leaves at once, with the audio that waits`() throws {
    var assembler = DeliveryAssembler(frameRate: 30)
    #expect(assembler.append(try self.source.packets(.audio), discards: 0, at: time(0)).delivery == nil)
    #expect(assembler.append(try self.source.packets(.audio), discards: 0, at: time(5)).delivery == nil)
    let video = try self.source.packets(.video)
    let joined = try #require(assembler.append(video, discards: 7, at: time(6)).delivery)
    #expect(joined.audio.count == 2 && joined.video === video && joined.discards == 7)
    let alone = try #require(assembler.append(video, discards: 0, at: time(7)).delivery)
    #expect(alone.audio.isEmpty && alone.video === video)
  }

  @Test mutating func `one timer runs at a time, and is due when the first audio has waited long enough`() throws {
    var assembler = DeliveryAssembler(frameRate: 25)
    #expect(assembler.append(try self.source.packets(.audio), discards: 0, at: time(0)).timer == time(40))
    #expect(assembler.append(try self.source.packets(.audio), discards: 0, at: time(20)).timer == nil)
    _ = assembler.append(try self.source.packets(.video), discards: 0, at: time(30))
    #expect(assembler.append(try self.source.packets(.audio), discards: 0, at: time(35)).timer == nil)
    let early = assembler.handleTimer(at: time(40))
    #expect(early.delivery == nil && early.timer == time(75))
    let due = assembler.handleTimer(at: time(75))
    #expect(due.delivery?.audio.count == 1 && due.delivery?.video == nil && due.timer == nil)
    #expect(assembler.handleTimer(at: time(200)).delivery == nil)
  }

  @Test mutating func `audio does not pile up when the timer is late`() throws {
    var assembler = DeliveryAssembler(frameRate: 30)
    _ = assembler.append(try self.source.packets(.audio), discards: 0, at: time(0))
    let late = assembler.append(try self.source.packets(.audio), discards: 0, at: time(500))
    #expect(late.delivery?.audio.count == 2)
  }

  @Test mutating func `without video audio does not wait`() throws {
    var assembler = DeliveryAssembler(frameRate: nil)
    let output = assembler.append(try self.source.packets(.audio), discards: 0, at: time(0))
    #expect(output.delivery?.audio.count == 1 && output.timer == nil)
  }
}

@Suite("The bounded queue between a stream and an event loop")
struct DeliveryQueueTests {
  private var source = PacketSource()

  private mutating func frame(isKeyframe: Bool = false, audio: Bool = false) throws -> SharedDelivery {
    SharedDelivery(
      number: 1, audio: audio ? [try self.source.packets(.audio)] : [],
      video: try self.source.packets(.video, isKeyframe: isKeyframe))
  }

  @Test mutating func `the event loop is woken up once for all that it has not taken`() throws {
    var queue = DeliveryQueue()
    #expect(queue.append(try self.frame(), at: time(0)).needsWakeUp)
    #expect(!queue.append(try self.frame(), at: time(1)).needsWakeUp)
    #expect(queue.takeAll(at: time(2)).count == 2)
    #expect(queue.takeAll(at: time(2)).isEmpty)
    #expect(queue.append(try self.frame(), at: time(3)).needsWakeUp)
  }

  @Test mutating func `a full queue drops all frames up to the next keyframe and counts them, audio goes on`() throws {
    var queue = DeliveryQueue()
    for _ in 0..<DeliveryQueue.capacity { _ = queue.append(try self.frame(), at: time(0)) }
    let overflow = queue.append(try self.frame(audio: true), at: time(1))
    #expect(overflow.droppedFrames == DeliveryQueue.capacity + 1)
    #expect(overflow.needsKeyframe && !overflow.needsWakeUp)
    let dropped = queue.append(try self.frame(), at: time(2))
    #expect(dropped.droppedFrames == 1 && !dropped.needsKeyframe)
    #expect(queue.append(try self.frame(isKeyframe: true), at: time(3)).droppedFrames == 0)
    #expect(queue.append(try self.frame(), at: time(4)).droppedFrames == 0)
    let taken = queue.takeAll(at: time(5))
    #expect(taken.map { $0.video != nil } == [false, true, true])
    #expect(taken.map { $0.audio.count } == [1, 0, 0])
  }

  @Test mutating func `the maximum lag is kept for ten to twenty seconds`() throws {
    var queue = DeliveryQueue()
    _ = queue.append(try self.frame(), at: time(11_000))
    _ = queue.append(try self.frame(), at: time(11_100))
    #expect(queue.maximumLag(at: time(11_050)) == .milliseconds(50))
    _ = queue.takeAll(at: time(11_140))
    _ = queue.append(try self.frame(), at: time(12_000))
    _ = queue.takeAll(at: time(12_003))
    #expect(queue.maximumLag(at: time(21_000)) == .milliseconds(140))
    #expect(queue.maximumLag(at: time(21_051)) == .milliseconds(140))
    #expect(queue.maximumLag(at: time(31_051)) == .zero)
  }

  @Test mutating func `the lag of an event loop that takes nothing grows`() throws {
    var queue = DeliveryQueue()
    _ = queue.append(try self.frame(), at: time(0))
    #expect(queue.maximumLag(at: time(2_000)) == .seconds(2))
  }

  @Test mutating func `a queue without deliveries for a long time has no lag`() throws {
    var queue = DeliveryQueue()
    _ = queue.append(try self.frame(), at: time(0))
    _ = queue.takeAll(at: time(100))
    #expect(queue.maximumLag(at: time(60_000)) == .zero)
  }
}

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
    // Two packets of the keyframe for one viewer, one of the frame for two; one of the present frame for two.
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
    let delivery = SharedDelivery(number: 1, audio: [audio], video: video)
    var expected = audio.interleaved(channel: 2)
    expected.writeImmutableBuffer(video.interleaved(channel: 0))
    let built = try #require(delivery.interleaved(channels: PerTrack(video: 0, audio: 2)))
    #expect(built == expected)
    let again = try #require(delivery.interleaved(channels: PerTrack(video: 0, audio: 2)))
    let addresses = [built, again].map { $0.withUnsafeReadableBytes { $0.baseAddress } }
    #expect(addresses[0] == addresses[1])
    #expect(delivery.interleaved(channels: PerTrack(video: 4)) == video.interleaved(channel: 4))
    #expect(delivery.interleaved(channels: PerTrack()) == nil)
  }
}
