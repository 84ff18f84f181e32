import Media
import NIOCore
import TestSupport
import Testing

@testable import MediaInput
@testable import Threading

@Suite("Playout buffer")
struct PlayoutBufferTests {
  static func packet(
    _ kind: MediaKind, isKeyframe: Bool = false, due: MediaTime, size: Int = 1_000
  ) -> NetworkPacket {
    NetworkPacket(
      EncodedSample(
        kind: kind, payload: ByteBuffer(repeating: 0, count: size), presentationTime: due, duration: .zero,
        isKeyframe: isKeyframe),
      times: SourceTimeline.Times(decode: due, presentation: due))
  }

  private static let span = SourceTimeline.maximumSpan

  static func take(_ buffer: PlayoutBuffer) -> NetworkPacket? {
    if case .packet(let packet) = buffer.next() { packet } else { nil }
  }

  @Test func `a packet is delivered when it is due`() throws {
    let buffer = PlayoutBuffer()
    let due = StreamClock.system.now() + .milliseconds(120)
    #expect(buffer.appendWaiting(Self.packet(.video, due: due), span: Self.span))
    let packet = try #require(Self.take(buffer))
    #expect(packet.times.decode == due)
    #expect(StreamClock.system.now() >= due)
  }

  @Test func `packets of both kinds are delivered in order of decode time, and those of one as they arrived`() {
    let buffer = PlayoutBuffer()
    // As MPEG-TS contains them: several audio frames, then the video frames of their time.
    let packets: [(MediaKind, Int64)] = [
      (.audio, 1), (.audio, 22), (.audio, 43), (.video, 5), (.video, 38), (.audio, 64), (.video, 71), (.video, 50),
    ]
    for (kind, due) in packets {
      #expect(buffer.appendWaiting(Self.packet(kind, due: MediaTime(nanoseconds: due)), span: Self.span))
    }
    let order = packets.compactMap { _ in Self.take(buffer) }.map(\.times.decode.nanoseconds)
    #expect(order == [1, 5, 22, 38, 43, 64, 71, 50])
  }

  private static func vp8(_ width: Int?, audio: PublishedCodec? = nil) -> TrackCodecs {
    TrackCodecs(video: width.map { .vp8(width: $0, height: 16) }, audio: audio, source: "test")
  }

  private static func changes(of buffer: PlayoutBuffer) -> [TrackCodecs] {
    buffer.append(.lost(VidiconError(.failed, subject: "end", cause: "", nextStep: "")))
    var changes: [TrackCodecs] = []
    while let item = buffer.next() {
      if case .changedCodecs(let codecs) = item { changes.append(codecs) }
      if case .lost = item { break }
    }
    return changes
  }

  @Test func `changes of codecs that no packet follows become one`() {
    let buffer = PlayoutBuffer()
    for width in 1...1_000 { buffer.appendChange(Self.vp8(width)) }
    buffer.appendChange(Self.vp8(nil, audio: .opus))
    buffer.appendLive(Self.packet(.video, isKeyframe: true, due: .zero))
    buffer.appendChange(Self.vp8(7))
    #expect(Self.changes(of: buffer) == [Self.vp8(1_000, audio: .opus), Self.vp8(7)])
  }

  @Test func `beyond eight changes of codecs, those that wait become one, and their packets are dropped`() {
    let buffer = PlayoutBuffer()
    buffer.appendChange(Self.vp8(nil, audio: .opus))
    for width in 1...8 {
      buffer.appendLive(Self.packet(.video, isKeyframe: true, due: .zero))
      buffer.appendChange(Self.vp8(width))
    }
    #expect(buffer.droppedCount == 8)
    // Until the next keyframe.
    buffer.appendLive(Self.packet(.video, due: .zero))
    #expect(buffer.droppedCount == 9)
    #expect(Self.changes(of: buffer) == [Self.vp8(8, audio: .opus)])
  }

  @Test func `live packets beyond the limits are dropped, video up to a keyframe`() {
    let buffer = PlayoutBuffer()
    let size = PlayoutBuffer.maximumByteCount / 4
    for index in 0..<4 { buffer.appendLive(Self.packet(.video, isKeyframe: index == 0, due: .zero, size: size)) }
    for _ in 0..<3 { buffer.appendLive(Self.packet(.video, due: .zero)) }
    buffer.appendLive(Self.packet(.audio, due: .zero))
    #expect(buffer.droppedCount == 4)
    for _ in 0..<4 { #expect(Self.take(buffer)?.byteCount == size) }
    buffer.appendLive(Self.packet(.video, due: .zero))
    buffer.appendLive(Self.packet(.audio, due: .zero))
    buffer.appendLive(Self.packet(.video, isKeyframe: true, due: .zero))
    buffer.appendLive(Self.packet(.video, due: .zero))
    #expect(buffer.droppedCount == 5)
    let rest = (0..<3).compactMap { _ in Self.take(buffer) }
    #expect(rest.map(\.kind) == [.audio, .video, .video])
    #expect(rest.map(\.isKeyframe) == [false, true, false])
  }

  @Test func `a silent source is lost once, and again after its next packet, but not after its end`() async throws {
    var limits = SourceLife.Limits()
    (limits.media, limits.maximumMedia) = (.milliseconds(50), .milliseconds(50))
    let buffer = PlayoutBuffer(limits: limits)
    let error = VidiconError(.timedOut, subject: "test", cause: "silent", nextStep: "")
    let next = { @Sendable () -> String in
      switch buffer.next(silence: { time in
        #expect(time == .milliseconds(50))
        return error
      }) {
      case .packet?: "packet"
      case .lost(let lost)?: lost == error ? "silent" : "ended"
      case nil: "closed"
      default: "other"
      }
    }
    for _ in 0..<2 {
      buffer.appendLive(Self.packet(.video, isKeyframe: true, due: .zero))
      #expect(try await onThread { [next(), next()] } == ["packet", "silent"])
    }
    buffer.appendLive(Self.packet(.video, isKeyframe: true, due: .zero))
    buffer.append(.lost(nil))
    #expect(try await onThread { [next(), next()] } == ["packet", "ended"])
    // Neither is reported again.
    async let last = onThread { next() }
    buffer.close()
    #expect(try await last == "closed")
  }

  @Test func `a writer more than two seconds ahead is held back until close`() async {
    let buffer = PlayoutBuffer()
    let now = StreamClock.system.now()
    #expect(buffer.appendWaiting(Self.packet(.video, due: now + .seconds(10)), span: Self.span))
    let waiting = Task.detached {
      buffer.appendWaiting(Self.packet(.video, due: now + .seconds(11)), span: Self.span)
    }
    let reading = Task.detached { if case .none = buffer.next() { true } else { false } }
    buffer.close()
    #expect(await !waiting.value)
    #expect(await reading.value)
    #expect(!buffer.appendWaiting(Self.packet(.video, due: now), span: Self.span))
  }
}
