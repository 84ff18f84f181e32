import Capture
import Codecs
import Media
import NIOCore
import TestSupport
import Testing
import Threading

@testable import Streaming

@Suite("Switching the audio of a live stream", .timeLimit(.minutes(5)))
struct AudioSwitchTests {
  private let first = ScriptedAudioCapturer()
  private let output = CollectingOutput()

  private func startedStream(_ settings: AudioSettings? = nil) async throws -> LiveStream {
    // Silence fills only the gaps of the sources, however slow the machine is.
    var patient = settings ?? AudioSettings()
    patient.timeout = .seconds(1000)
    var video = VideoSettings()
    video.switchTimeouts.start = .seconds(1000)
    video.switchTimeouts.firstItem = .seconds(1000)
    let stream = LiveStream("test", video: video, audio: patient)
    stream.attachAudio(self.first)
    stream.add(self.output)
    try await stream.start()
    return stream
  }

  /// Switches to a source that delivers audio as soon as it is started.
  private func change(
    _ stream: LiveStream, to capturer: ScriptedAudioCapturer, at time: MediaTime, samples: Int, amplitude: Float = 0.5
  ) async throws {
    async let change: Void = stream.switchAudio(to: capturer)
    try await stream.eventually { capturer.isStarted }
    capturer.deliver(at: time, samples: samples, amplitude: amplitude)
    try await change
  }

  /// The maximum deviation of the samples' times from a grid of 1024 samples at 48 kHz, in nanoseconds.
  private func unevenness(_ samples: [EncodedSample]) -> Int64 {
    guard let first = samples.first else { return .max }
    return samples.enumerated().map { index, sample in
      abs(
        (sample.presentationTime - first.presentationTime - .ticks(Int64(index) * 1024, timescale: 48_000)).nanoseconds)
    }.max() ?? .max
  }

  /// A time far enough in the past that one or two seconds of audio from then on are not in the future.
  private static func past() -> MediaTime {
    StreamClock.system.now() - .seconds(3)
  }

  /// Waits for a number of encoded samples: one less than the delivered frames, since the encoder retains one.
  private func samples(_ count: Int) -> [EncodedSample] {
    self.output.samples(atLeast: count)
  }

  @Test(arguments: [("a gap", 15, 720), ("a long gap", 200, 9600), ("in step", 0, 0), ("an overlap", -30, 0)])
  func `the new source's audio keeps its times: gaps are filled, overlaps cut, timestamps stay even`(
    name: String, milliseconds: Int64, silence: Int
  ) async throws {
    let stream = try await self.startedStream()
    var events = stream.events.makeAsyncIterator()
    let time = Self.past()
    self.first.deliver(at: time, samples: 10 * 1024)
    let end = time + .ticks(10 * 1024, timescale: 48_000) + .milliseconds(milliseconds)
    let second = ScriptedAudioCapturer()
    try await self.change(stream, to: second, at: end, samples: 20 * 1024)
    #expect(await events.next() == .sourceSwitched(.audio))
    let overlap = milliseconds < 0 ? Int(-milliseconds) * 48 : 0
    let count = (30 * 1024 + silence - overlap) / 1024 - 1
    let samples = self.samples(count)
    #expect(samples.count == count)
    #expect(self.unevenness(samples) <= 1)
    #expect(stream.statistics.silentSamples == silence)
    #expect(self.first.stops == 1 && second.stops == 0 && stream.audioSource === second)
    await stream.stop()
    #expect(second.stops == 1 && stream.audioSource == nil)
  }

  @Test func `a source with another sample rate and channel count takes over, and the description stays`()
    async throws
  {
    let stream = try await self.startedStream()
    let descriptions = stream.descriptions
    let time = Self.past()
    self.first.deliver(at: time, samples: 4800)
    let second = ScriptedAudioCapturer(format: AudioFormat(sampleRate: 44_100, channelCount: 2))
    try await self.change(stream, to: second, at: time + .milliseconds(100), samples: 44_100)
    let samples = self.samples(50)
    #expect(samples.count >= 50 && self.unevenness(samples) <= 1)
    #expect(stream.descriptions == descriptions && stream.statistics.audioEncoders == 1)
    await stream.stop()
  }

  @Test func `audio of the previous source that arrives after the switch is dropped and reported`() async throws {
    let stream = try await self.startedStream()
    let time = StreamClock.system.now()
    self.first.deliver(at: time, samples: 480)
    let second = ScriptedAudioCapturer()
    try await self.change(stream, to: second, at: time, samples: 960)
    self.first.deliver(at: time, samples: 480)
    #expect(self.first.drops == [FrameDrop(timestamp: time, reason: .stopped)])
    #expect(stream.statistics.audioBlocksDropped == 1)
    await stream.stop()
  }

  @Test func `a source that fails to start leaves the previous one in place`() async throws {
    let stream = try await self.startedStream()
    let failure = VidiconError(.notFound, subject: "x", cause: "gone", nextStep: "plug it in")
    await #expect(throws: failure) {
      try await stream.switchAudio(to: ScriptedAudioCapturer(failure: failure))
    }
    let second = ScriptedAudioCapturer()
    let change = Task { try await stream.switchAudio(to: second) }
    try await stream.eventually { second.isStarted }
    second.end(failure)
    await #expect(throws: failure) { try await change.value }
    #expect(second.stops == 1 && self.first.stops == 0 && stream.audioSource === self.first)
    self.first.deliver(at: StreamClock.system.now(), samples: 4096)
    #expect(self.samples(3).count >= 3)
    await stream.stop()
  }

  @Test func `muted audio is encoded as silence at the same times, and the meter still shows the source`()
    async throws
  {
    let stream = try await self.startedStream(AudioSettings(bitrate: 128_000))
    let time = Self.past()
    self.first.deliver(at: time, samples: 20 * 1024)
    #expect(self.samples(19).count == 19)
    #expect(abs(stream.audioLevel.peak + 6.02) < 0.01 && abs(stream.audioLevel.rms + 6.02) < 0.01)
    stream.isMuted = true
    let next = time + .ticks(20 * 1024, timescale: 48_000)
    self.first.deliver(at: next, samples: 20 * 1024, amplitude: 0.25)
    let samples = self.samples(39)
    #expect(samples.count == 39 && self.unevenness(samples) <= 1)
    #expect(abs(stream.audioLevel.peak + 12.04) < 0.01)
    // The codec's overlap with earlier audio ends after two frames.
    #expect(samples[5..<15].allSatisfy { $0.payload.readableBytes > 100 })
    #expect(samples[25...].allSatisfy { $0.payload.readableBytes < 20 })
    await stream.stop()
    #expect(stream.audioLevel == .silence)
  }

  @Test func `a source with constant latency is waited for, instead of being silent for ever`() async throws {
    var settings = AudioSettings()
    settings.timeout = .milliseconds(40)
    let stream = LiveStream("test", audio: settings)
    stream.attachAudio(self.first)
    stream.add(self.output)
    try await stream.start()
    // Silence takes its place at first.
    #expect(self.samples(5).count >= 5)
    // Blocks arrive 300 ms after their time, at the clock's rate; where the machine is slower, some are omitted.
    let start = StreamClock.system.now()
    let pace = Monitor(())
    var used = 0
    var next = start - .milliseconds(300)
    while used == 0, StreamClock.system.now() - start < .seconds(300) {
      let _: Never? = pace.wait(until: next + .milliseconds(300)) { _ in nil }
      // Other tests wait for the thread that this one blocks.
      await Task.yield()
      if StreamClock.system.now() - next > .milliseconds(400) { next = StreamClock.system.now() - .milliseconds(300) }
      self.first.deliver(at: next, samples: 480)
      next = next + .milliseconds(10)
      used = self.output.samples.suffix(3).filter { $0.payload.readableBytes > 100 }.count
    }
    #expect(used > 0)
    #expect(self.unevenness(self.output.samples) <= 1)
    await stream.stop()
  }
}
