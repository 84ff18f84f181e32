import Media
import NIOCore
import Testing
import TransportStreams

@testable import Containers

@Suite("Program clock, ISO/IEC 13818-1 §2.4.2.2")
struct ProgramClockTests {
  /// Samples in order of arrival, their timestamps, and the clock values.
  struct Case: Sendable {
    var name: String
    var samples: [EncodedSample]
    var descriptions = [TestSamples.h264, TestSamples.aac]
    /// Samples that come too late.
    var skipped = 0
    /// Maximum distance of a timestamp from the clock, in milliseconds.
    var lead: Int64 = 341
  }

  private static let videoSamples = TestSamples.stream(seconds: 5).filter { $0.kind == .video }
  private static let audioSamples = TestSamples.stream(seconds: 5).filter { $0.kind == .audio }

  /// Video and audio in order of arrival when one of them is late.
  private static func late(_ kind: MediaKind, by delay: MediaDuration) -> [EncodedSample] {
    TestSamples.stream(seconds: 5).enumerated().sorted {
      let first = $0.element.decodeTime + ($0.element.kind == kind ? delay : .zero)
      let second = $1.element.decodeTime + ($1.element.kind == kind ? delay : .zero)
      return (first, $0.offset) < (second, $1.offset)
    }.map(\.element)
  }

  static let cases: [Case] = [
    Case(name: "both", samples: TestSamples.stream(seconds: 3)),
    Case(name: "1 fps", samples: TestSamples.stream(seconds: 5, frameRate: 1)),
    Case(
      name: "5 fps, no audio", samples: TestSamples.stream(seconds: 3, frameRate: 5).filter { $0.kind == .video },
      descriptions: [TestSamples.h264]),
    Case(name: "audio is announced and never arrives", samples: Self.videoSamples),
    Case(name: "audio", samples: Self.audioSamples, descriptions: [TestSamples.aac]),
    Case(
      name: "audio starts 2 s later",
      samples: TestSamples.stream(seconds: 5).filter {
        $0.kind == .video || $0.decodeTime >= .zero + .seconds(12)
      }),
    Case(
      name: "video pauses for 12 s while audio continues",
      samples: TestSamples.stream(seconds: 15).filter {
        $0.kind == .audio || $0.decodeTime < .zero + .seconds(11) || $0.decodeTime >= .zero + .seconds(23)
      }, lead: 841),
    Case(
      name: "audio ends",
      samples: TestSamples.stream(seconds: 5).filter { $0.kind == .video || $0.decodeTime < .zero + .seconds(11) },
      lead: 841),
    Case(name: "audio is 250 ms late", samples: Self.late(.audio, by: .milliseconds(250)), lead: 591),
    Case(name: "video is 250 ms late", samples: Self.late(.video, by: .milliseconds(250)), lead: 591),
    // More than 300 ms cannot be known before: until the clock has waited, 400 ms of the track are lost.
    Case(name: "audio is 700 ms late", samples: Self.late(.audio, by: .milliseconds(700)), skipped: 18, lead: 841),
    Case(name: "video is 700 ms late", samples: Self.late(.video, by: .milliseconds(700)), skipped: 30, lead: 841),
    // Except for audio after the last frame, a second is too much.
    Case(name: "audio is a second late", samples: Self.late(.audio, by: .seconds(1)), skipped: 196, lead: 841),
    Case(name: "audio arrives after the end", samples: Self.videoSamples + Self.audioSamples.prefix(5), skipped: 5),
  ]

  @Test(arguments: cases.indices)
  func `the clock steps forward by 40 ms at most, and no timestamp is before it`(index: Int) throws {
    let one = Self.cases[index]
    let stream = MuxedStream(one.samples, one.descriptions)
    #expect(stream.skippedSampleCount == one.skipped, "\(one.name)")
    let clocks = stream.clocks
    for (earlier, later) in zip(clocks, clocks.dropFirst()) {
      #expect(later > earlier && later - earlier <= 40 * 27_000, "\(one.name)")
    }
    // From the first sample, and up to the last but for the lag.
    let newest = try #require(one.samples.map(\.decodeTime).max())
    let first = try #require(clocks.first)
    let last = try #require(clocks.last)
    #expect(first == 10 * 27_000_000, "\(one.name)")
    #expect(Int64(last) >= newest.ticks(timescale: 27_000_000) - 600 * 27_000, "\(one.name)")
    let times = try stream.times(0x100) + stream.times(0x101)
    #expect(times.count > 10, "\(one.name)")
    for (timestamp, clock) in times {
      #expect(timestamp >= clock, "\(one.name)")
      #expect(timestamp <= clock + one.lead * 27_000, "\(one.name)")
    }
  }

  @Test func `after a late frame, frames are skipped until a keyframe`() throws {
    let start = MediaTime.zero + .seconds(10)
    /// A keyframe, audio a second ahead, the frame at 33 ms too late, and later ones.
    var samples = [TestSamples.videoSample(at: start, isKeyframe: true)]
    samples += (0..<48).map { TestSamples.audioSample(at: start + .ticks($0 * 1024, timescale: 48_000)) }
    samples += [33, 1000, 1033].map { TestSamples.videoSample(at: start + .milliseconds($0)) }
    samples += [1066, 1100].map { TestSamples.videoSample(at: start + .milliseconds($0), isKeyframe: $0 == 1066) }
    let stream = MuxedStream(samples)
    #expect(stream.skippedSampleCount == 3)
    let times = try stream.times(0x100).map { $0.timestamp / 27_000 - 10_300 }
    #expect(times == [0, 1066, 1100])
  }

  @Test func `a removed track does not delay the clock`() throws {
    var muxer = TransportStreamMuxer([TestSamples.h264, TestSamples.aac])
    var buffer = ByteBuffer()
    muxer.startSegment(into: &buffer)
    muxer.mux(TestSamples.audioSample(at: .zero + .seconds(1)), into: &buffer)
    muxer.mux(TestSamples.videoSample(at: .zero + .seconds(1), isKeyframe: true), into: &buffer)
    muxer.flush(into: &buffer)
    muxer.change(to: [TestSamples.h264])
    muxer.startSegment(into: &buffer)
    muxer.mux(TestSamples.videoSample(at: .zero + .milliseconds(1400), isKeyframe: true), into: &buffer)
    let clocks = MuxedStream.demux(buffer).compactMap { if case .clock(let clock) = $0 { clock } else { nil } }
    #expect(clocks.last == 1400 * 27_000)
  }

  @Test func `a gap of more than a second is not filled`() {
    let samples = [0, 1, 100].map { TestSamples.videoSample(at: .zero + .seconds($0 * 1000), size: 10) }
    #expect(MuxedStream.mux(samples).readableBytes == 188 * 5)
  }
}
