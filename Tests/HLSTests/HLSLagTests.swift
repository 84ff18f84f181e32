import HLSRules
import Media
import NIOCore
import Testing

@testable import HLS

@Suite("HLS: audio and video of different latency")
struct HLSLagTests {
  /// Parts of 20 seconds of which one kind arrives later than the other.
  private func parts(videoDelay: MediaDuration, audioDelay: MediaDuration) -> [HLSPartSamples] {
    let start = MediaTime.zero + .seconds(100)
    var segmenter = HLSSegmenter(
      Broadcast.descriptions(.init()), timing: HLSTiming(Broadcast.descriptions(.init())), startSegments: 1,
      isDiscontinuous: false)
    var samples: [(arrival: MediaTime, sample: EncodedSample)] = []
    for index in 0..<Int64(600) {
      let time = FrameRate(30).time(ofFrame: index, from: start)
      let sample = EncodedSample(
        kind: .video, payload: Broadcast.payload(10, first: 0x65), presentationTime: time,
        duration: FrameRate(30).frameInterval, isKeyframe: index % 30 == 0)
      samples.append((time + videoDelay, sample))
    }
    for index in 0..<Int64(937) {
      let time = start + .ticks(index * 1024, timescale: 48_000)
      let sample = EncodedSample(
        kind: .audio, payload: Broadcast.payload(10, first: 0x21), presentationTime: time,
        duration: .ticks(1024, timescale: 48_000), isKeyframe: true)
      samples.append((time + audioDelay, sample))
    }
    samples.sort { $0.arrival < $1.arrival }
    var parts: [HLSPartSamples] = []
    for (_, sample) in samples {
      for case .part(let part) in segmenter.append(sample) { parts.append(part) }
    }
    return parts
  }

  /// Milliseconds of video and of audio that lag behind the other kind.
  @Test(arguments: [(0, 0), (240, 0), (300, 0), (500, 0), (1_300, 0), (0, 400), (0, 1_200)])
  func `after the first late sample, parts contain all samples of their time`(video: Int64, audio: Int64) {
    let parts = self.parts(videoDelay: .milliseconds(video), audioDelay: .milliseconds(audio))
    let later = parts.filter { $0.start > MediaTime.zero + .seconds(103) }
    #expect(later.count > 60)
    for part in later {
      #expect(part.samples.allSatisfy { $0.decodeTime >= part.start - .microseconds(1) && $0.decodeTime < part.end })
      #expect(Set(part.samples.map(\.kind)) == [.video, .audio], "at \((part.start - MediaTime.zero).seconds) s")
      #expect(part.end - part.start < .milliseconds(230))
    }
    // Contiguous, and nothing is lost.
    #expect(zip(parts, parts.dropFirst()).allSatisfy { $0.end == $1.start })
    #expect(later.flatMap(\.samples).count { $0.kind == .video } > 440)
  }

  @Test func `a camera half a second behind the microphone gives regular segments, within HLS's rules`() {
    var settings = Broadcast.Settings()
    settings.videoDelay = .milliseconds(500)
    var broadcast = Broadcast(settings)
    broadcast.run(until: 20_000)
    #expect(broadcast.violations.isEmpty, "\(broadcast.violations.prefix(3))")
    let segments = MediaPlaylistText(broadcast.text("playlist.m3u8") ?? "").segments
    #expect(segments.count > 3)
    #expect(segments.allSatisfy { $0.duration > 0.45 && $0.duration < 1.5 }, "\(segments.map(\.duration))")
  }

  @Test func `video that ends is waited for no longer than it was late`() {
    let parts = self.parts(videoDelay: .milliseconds(5_000), audioDelay: .zero)
    // The lag exceeds what is waited for: parts of audio alone continue.
    #expect(parts.count { !$0.samples.contains { $0.kind == .video } } > 10)
  }
}
