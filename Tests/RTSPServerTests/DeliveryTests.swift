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
      audio: audio ? [try self.source.packets(.audio)] : [],
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

@Suite("Bytes of a delivery for a connection")
struct SharedDeliveryTests {
  @Test func `audio precedes the access unit, and each pair of channels is built once`() throws {
    var source = PacketSource()
    let (audio, video) = (try source.packets(.audio), try source.packets(.video))
    let delivery = SharedDelivery(audio: [audio], video: video)
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
