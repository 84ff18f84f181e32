import Codecs
import Media
import NIOCore
import TestSupport
import Testing
import Threading

@testable import Streaming

@Suite("Passing audio through", .serialized, .timeLimit(.minutes(5)))
struct AudioPassThroughTests {
  static let format = AudioFormat(sampleRate: 44_100, channelCount: 2)
  private static let frame = format.duration(ofSamples: 1024)

  /// Blocks of a tone of rising and falling pitch from a time on, with the AAC packets that encode them.
  static func blocks(_ count: Int, format: AudioFormat = format) throws -> [AudioBlock] {
    let encoder = try LibavAACEncoder(format: format, bitrate: 96_000)
    var packets: [EncodedSample] = []
    var blocks: [AudioBlock] = []
    for index in 0..<count + 2 {
      let samples = (0..<1024 * format.channelCount).map { sample in
        let period = 40 + (index % 7) * 8
        return Float(sample % period) / Float(period) - 0.5
      }
      let time = MediaTime.zero + format.duration(ofSamples: index * 1024)
      blocks.append(AudioBlock(format: format, timestamp: time, samples: samples))
      try encoder.encode(blocks[index]) { packets.append($0) }
    }
    blocks.removeLast(2)
    // The first packet is the encoder's priming, before the first block.
    for index in blocks.indices {
      blocks[index].packet = AudioPacket(payload: packets[index + 1].payload, description: encoder.description)
    }
    return blocks
  }

  /// A stream with an AAC source, and its output.
  final class Run: Sendable {
    let stream: LiveStream
    let source: ScriptedAudioCapturer
    let output = CollectingOutput()
    let start: MediaTime
    private let blocks: [AudioBlock]

    init(
      _ count: Int, settings: AudioSettings = AudioSettings(), source: ScriptedAudioCapturer? = nil,
      late: MediaDuration = .zero
    ) async throws {
      self.blocks = try AudioPassThroughTests.blocks(count)
      var settings = settings
      settings.timeout = .seconds(1000)
      var video = VideoSettings()
      video.switchTimeouts.start = .seconds(1000)
      video.switchTimeouts.firstItem = .seconds(1000)
      self.source = source ?? ScriptedAudioCapturer(format: AudioPassThroughTests.format)
      self.stream = LiveStream("test", video: video, audio: settings)
      self.stream.attachAudio(self.source)
      self.stream.add(self.output)
      try await self.stream.start()
      // The last block has the current time: later timestamps are treated as those of another clock, and those older than the timeout.
      self.start = StreamClock.system.now() - AudioPassThroughTests.format.duration(ofSamples: count * 1024) - late
    }

    func time(_ index: Int) -> MediaTime {
      self.start + AudioPassThroughTests.format.duration(ofSamples: index * 1024)
    }

    func payload(_ index: Int) -> ByteBuffer? { self.blocks[index].packet?.payload }

    func payloads(_ range: Range<Int>) -> [ByteBuffer?] { range.map { self.payload($0) } }

    /// A block, shifted by a delay.
    func block(_ index: Int, late: MediaDuration = .zero) -> AudioBlock {
      var block = self.blocks[index]
      block.timestamp = self.time(index) + late
      return block
    }

    /// Delivers blocks and waits until the pipeline has processed them.
    func deliver(_ range: Range<Int>, late: MediaDuration = .zero) async throws {
      for index in range {
        self.source.deliver(self.block(index, late: late))
        if index % 20 == 0 { try await self.settle() }
      }
      try await self.settle()
    }

    /// Waits until every block is dequeued; the pipeline may still process the last one.
    func settle() async throws {
      try await self.stream.eventually { self.stream.statistics.audioBlocksQueued == 0 }
    }
  }

  /// Deviations of the intervals between samples from the frame duration, in nanoseconds.
  static func deviations(_ samples: [EncodedSample]) -> [Int64] {
    zip(samples, samples.dropFirst()).map { ($1.presentationTime - $0.presentationTime - Self.frame).nanoseconds }
  }

  @Test func `AAC of a source is passed through after a steady second, at the times of its audio`()
    async throws
  {
    let run = try await Run(100)
    let descriptions = run.stream.descriptions
    try await run.deliver(0..<100)
    // One priming frame, and the 44 frames of the first second without the encoder's delay of two.
    let samples = run.output.samples(atLeast: 101)
    try #require(samples.count == 101)
    #expect(samples.dropFirst(43).map(\.payload) == run.payloads(42..<100))
    #expect(samples[42].payload != run.payload(41))
    #expect(Self.deviations(samples).allSatisfy { abs($0) <= 2 })
    #expect(abs((samples[1].presentationTime - run.start).nanoseconds) <= 2)
    #expect(run.stream.statistics.audioFramesPassedThrough == 58)
    #expect(run.stream.statistics.audioBytes == samples.reduce(0) { $0 + $1.payload.readableBytes })
    #expect(run.stream.statistics.silentSamples == 0)
    #expect(run.stream.descriptions == descriptions && run.output.changes.map(\.description) == descriptions)
    #expect(abs(run.stream.audioLevel.peak + 6.02) < 0.1)
    await run.stream.stop()
  }

  @Test func `muting switches to the encoder at the next frame, unmuting back to packets after a second`()
    async throws
  {
    let run = try await Run(190)
    try await run.deliver(0..<60)
    // A block is dequeued before it is processed: only the output shows that muting comes after it.
    #expect(run.output.samples(atLeast: 61).count == 61)
    run.stream.isMuted = true
    try await run.deliver(60..<90)
    // The encoder is two frames behind.
    #expect(run.output.samples(atLeast: 89).count == 89)
    run.stream.isMuted = false
    try await run.deliver(90..<190)
    let samples = run.output.samples(atLeast: 191)
    #expect(samples.count == 191)
    #expect(Self.deviations(samples).allSatisfy { abs($0) <= 2 })
    #expect(samples[43..<61].map(\.payload) == run.payloads(42..<60))
    // The codec's overlap with earlier audio ends after two frames.
    #expect(samples[63..<89].allSatisfy { $0.payload.readableBytes < 20 })
    #expect(samples[94..<132].allSatisfy { $0.payload.readableBytes > 50 })
    #expect(samples[133...].map(\.payload) == run.payloads(132..<190))
    #expect(run.stream.statistics.audioFramesPassedThrough == 18 + 58)
    await run.stream.stop()
  }

  @Test(arguments: [50, 300, -50, -300, 1_700])
  func `gaps and overlaps are encoded, and timestamps neither go back nor jump`(milliseconds: Int64) async throws {

    let run = try await Run(130, late: .milliseconds(max(0, milliseconds)))
    try await run.deliver(0..<55)
    try await run.deliver(55..<130, late: .milliseconds(milliseconds))
    try await run.stream.eventually { run.output.samples.last?.payload == run.payload(129) }
    let samples = run.output.samples
    #expect(samples[43..<56].map(\.payload) == run.payloads(42..<55))
    let count = run.stream.statistics.audioFramesPassedThrough
    #expect((30...50).contains(count))
    #expect(samples.suffix(count - 13).map(\.payload) == run.payloads(130 - (count - 13)..<130))
    #expect(Self.deviations(samples[..<56].map { $0 }).allSatisfy { abs($0) <= 2 })
    let steps = Self.deviations(samples)
    // A gap of more than a second is not filled: timestamps continue after it.
    let isLeap = milliseconds > 1_000
    #expect(steps.count { abs($0) > 2 } <= (isLeap ? 2 : 1))
    #expect(steps.count { $0 > 40_000_000 } == (isLeap ? 1 : 0))
    #expect(zip(samples, samples.dropFirst()).allSatisfy { $0.presentationTime < $1.presentationTime })
    let late = run.time(129) + .milliseconds(milliseconds)
    #expect(abs(try #require(samples.last).presentationTime.nanoseconds - late.nanoseconds) < 20_000_000)
    await run.stream.stop()
  }

  @Test func `a switch from the tone to a network source and back`() async throws {
    let tone = ScriptedAudioCapturer(format: Self.format)
    let run = try await Run(100, source: tone)
    tone.deliver(at: run.time(0) - .milliseconds(500), samples: 22_050)
    let network = ScriptedAudioCapturer(format: Self.format)
    async let there: Void = run.stream.switchAudio(to: network)
    try await run.stream.eventually { network.isStarted }
    network.deliver(run.block(0))
    try await there
    for index in 1..<80 {
      network.deliver(run.block(index))
      if index % 20 == 0 { try await run.settle() }
    }
    // The last block is dequeued before it is processed.
    try await run.stream.eventually { run.output.samples.last?.payload == run.payload(79) }
    #expect(run.stream.statistics.audioFramesPassedThrough == 80 - 43)
    #expect(run.output.samples.suffix(37).map(\.payload) == run.payloads(43..<80))
    let count = run.output.samples.count
    let back = ScriptedAudioCapturer(format: Self.format)
    async let again: Void = run.stream.switchAudio(to: back)
    try await run.stream.eventually { back.isStarted }
    back.deliver(at: run.time(80), samples: 20 * 1024)
    try await again
    // The encoder's delay is two frames.
    let samples = run.output.samples(atLeast: count + 18)
    #expect(samples.count == count + 18)
    #expect(run.stream.statistics.audioFramesPassedThrough == 37)
    let steps = Self.deviations(samples)
    #expect(steps.allSatisfy { abs($0) <= 20_000_000 } && steps.count { abs($0) > 2 } <= 1)
    #expect(run.output.changes.count == 1 && run.stream.statistics.audioEncoders == 1)
    await run.stream.stop()
  }

  @Test(arguments: [
    AudioSettings(bitrate: 96_000), AudioSettings(sampleRate: 48_000), AudioSettings(channelCount: 1),
  ])
  func `audio with other settings than the source's is encoded`(settings: AudioSettings) async throws {

    let run = try await Run(70, settings: settings)
    try await run.deliver(0..<70)
    #expect(run.output.samples(atLeast: 50).count >= 50)
    #expect(run.stream.statistics.audioFramesPassedThrough == 0)
    await run.stream.stop()
  }

  @Test func `modified samples lose their packet`() throws {
    var block = try #require(try Self.blocks(1).first)
    #expect(block.packet != nil)
    block.timestamp += .seconds(1)
    #expect(block.packet != nil)
    block.samples[0] *= 2
    #expect(block.packet == nil)
  }
}
