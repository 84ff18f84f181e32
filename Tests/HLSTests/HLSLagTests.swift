import HLSRules
import Media
import NIOCore
import Testing

@testable import HLS

@Suite("HLS: audio and video of different latency")
struct HLSLagTests {
  /// Latency of a sample by its capture time, both in milliseconds; nil for a sample that never arrives.
  typealias Latency = (_ time: Int64) -> Int64?

  /// A part, and when it was complete.
  private struct TimedPart {
    var samples: HLSPartSamples
    var completion: MediaTime
  }

  private static let start = MediaTime.zero + .seconds(100)

  /// Parts of 20 seconds of samples that arrive with different latencies.
  private func parts(video: Latency, audio: Latency = { _ in 0 }) -> [TimedPart] {
    let descriptions = StreamSimulation.descriptions(.init())
    var segmenter = HLSSegmenter(
      descriptions, timing: HLSTiming(descriptions), startSegments: 1, isDiscontinuous: false)
    var samples: [(arrival: MediaTime, sample: EncodedSample)] = []
    func add(_ sample: EncodedSample, _ latency: Latency) {
      let time = (sample.decodeTime - Self.start).nanoseconds / 1_000_000
      if let latency = latency(time) { samples.append((sample.decodeTime + .milliseconds(latency), sample)) }
    }
    for index in 0..<Int64(600) {
      add(
        EncodedSample(
          kind: .video, payload: StreamSimulation.payload(10, first: 0x65),
          presentationTime: FrameRate(30).time(ofFrame: index, from: Self.start),
          duration: FrameRate(30).frameInterval, isKeyframe: index % 30 == 0), video)
    }
    for index in 0..<Int64(937) {
      add(
        EncodedSample(
          kind: .audio, payload: StreamSimulation.payload(10, first: 0x21),
          presentationTime: Self.start + .ticks(index * 1024, timescale: 48_000),
          duration: .ticks(1024, timescale: 48_000), isKeyframe: true), audio)
    }
    samples.sort { $0.arrival < $1.arrival }
    var parts: [TimedPart] = []
    for (arrival, sample) in samples {
      for case .part(let part) in segmenter.append(sample, at: arrival) {
        parts.append(TimedPart(samples: part, completion: arrival))
      }
    }
    return parts
  }

  /// Expects each part to contain all samples of its time, and to follow the previous one.
  private func expectComplete(_ parts: [TimedPart], sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(parts.count > 80, sourceLocation: sourceLocation)
    for part in parts.map(\.samples) {
      let time = "at \((part.start - Self.start).seconds) s"
      let isWithin = part.samples.allSatisfy {
        $0.decodeTime >= part.start - .microseconds(1) && $0.decodeTime < part.end
      }
      #expect(isWithin, "\(time)", sourceLocation: sourceLocation)
      #expect(Set(part.samples.map(\.kind)) == [.video, .audio], "\(time)", sourceLocation: sourceLocation)
      let frames = part.samples.filter { $0.kind == .video }
      let isContiguous = frames.last.map { $0.decodeTime + $0.duration <= part.end + .microseconds(1) } ?? false
      #expect(isContiguous, "\(time)", sourceLocation: sourceLocation)
      #expect(part.end - part.start < .milliseconds(230), "\(time)", sourceLocation: sourceLocation)
    }
    let samples = parts.map(\.samples)
    #expect(zip(samples, samples.dropFirst()).allSatisfy { $0.end == $1.start }, sourceLocation: sourceLocation)
    let count = samples.flatMap(\.samples).count { $0.kind == .video }
    #expect(count > 500, sourceLocation: sourceLocation)
  }

  /// Milliseconds of video and of audio that arrive later than they were captured.
  @Test(arguments: [(0, 0), (240, 0), (300, 0), (500, 0), (1_300, 0), (0, 400), (0, 1_200)] as [(Int64, Int64)])
  func `parts contain all samples of their time, whatever the latency of either kind`(video: Int64, audio: Int64) {
    // Once samples of both kinds have arrived.
    let parts = self.parts(video: { _ in video }, audio: { _ in audio }).filter {
      $0.samples.start > Self.start + .seconds(2)
    }
    self.expectComplete(parts)
    // As soon as the next samples of both kinds have arrived.
    for part in parts {
      #expect(part.completion - part.samples.end <= .milliseconds(max(video, audio) + 40))
    }
  }

  @Test(arguments: [50, 100, 200, 350, 500] as [Int64])
  func `parts contain all samples while the latency grows to that of another source, and shrinks again`(
    latency: Int64
  ) {
    // As a switch maps it: within a second. See SwitchOffset.
    let decay = max(1_000, 2 * latency)
    self.expectComplete(
      self.parts(video: { time in
        switch time {
        case ..<5_000: 0
        case ..<12_000: min(latency, latency * (time - 5_000) / decay)
        default: max(0, latency - latency * (time - 12_000) / decay)
        }
      }))
  }

  @Test func `audio that continues with a burst after a pause does not look like video that has stopped`() {
    // As a switch of microphones: the pause is filled with silence, which arrives together.
    self.expectComplete(
      self.parts(
        video: { _ in 300 }, audio: { time in (5_000..<5_400).contains(time) ? 5_400 - time : 0 }
      ).filter { $0.samples.start > Self.start + .seconds(2) })
  }

  @Test func `video that stops is waited for no longer than a quarter of a second, however late it was`() {
    let parts = self.parts(video: { $0 < 10_000 ? 500 : nil })
    let last = parts.lastIndex { $0.samples.samples.contains { $0.kind == .video } } ?? 0
    #expect(parts[last].samples.end - Self.start > .milliseconds(9_900))
    // The audio of its time has been there for half a second.
    let pause = HLSSegmenter.maximumPause + .milliseconds(40)
    for part in parts[last...] {
      let due = max(Self.start + .milliseconds(10_500), part.samples.end)
      #expect(part.completion - due <= pause)
    }
    #expect(parts.count - last > 40)
  }

  @Test func `video that is more than a second and a half late is not waited for`() {
    let parts = self.parts(video: { _ in 5_000 })
    #expect(parts.count { !$0.samples.samples.contains { $0.kind == .video } } > 10)
  }

  @Test(arguments: [300, 500, 900] as [Int64])
  func `a camera behind the microphone gives regular segments, within HLS's rules`(delay: Int64) {
    var settings = StreamSimulation.Settings()
    settings.videoDelay = .milliseconds(delay)
    var simulation = StreamSimulation(settings)
    simulation.run(until: 20_000)
    #expect(simulation.violations.isEmpty, "\(simulation.violations.prefix(3))")
    let segments = MediaPlaylistText(simulation.text("playlist.m3u8") ?? "").segments
    #expect(segments.count > 3)
    #expect(segments.dropFirst().allSatisfy { $0.duration > 0.9 && $0.duration < 1.1 }, "\(segments.map(\.duration))")
  }

  @Test(arguments: [300, 900] as [Int64])
  func `a camera of high latency without a microphone gets a keyframe per segment`(delay: Int64) {
    var settings = StreamSimulation.Settings()
    (settings.hasAudio, settings.videoDelay) = (false, .milliseconds(delay))
    settings.keyframeInterval = 300
    var simulation = StreamSimulation(settings)
    simulation.run(until: 20_000)
    let segments = MediaPlaylistText(simulation.text("playlist.m3u8") ?? "").segments
    #expect(segments.count > 3)
    #expect(segments.dropFirst().allSatisfy { $0.duration > 0.9 && $0.duration < 1.1 }, "\(segments.map(\.duration))")
    #expect(simulation.keyframeRequests < 30, "\(simulation.keyframeRequests)")
  }
}
