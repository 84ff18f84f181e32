import Media
import NIOCore
import Testing

@testable import Containers

@Suite("Program clock, ISO/IEC 13818-1 §2.4.2.2")
struct ProgramClockTests {
  /// Samples in the order in which they come, what is told of them, and how far the clock goes.
  struct Case: Sendable {
    var name: String
    var samples: [EncodedSample]
    var descriptions = [TestSamples.h264, TestSamples.aac]
    /// Samples that come too late.
    var skipped = 0
    /// The most that a timestamp lies ahead of the clock, in milliseconds.
    var lead: Int64 = 341
  }

  private static let pictures = TestSamples.stream(seconds: 5).filter { $0.kind == .video }
  private static let sounds = TestSamples.stream(seconds: 5).filter { $0.kind == .audio }

  /// Pictures and sound as they come when one of them takes longer.
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
      name: "5 fps, no sound", samples: TestSamples.stream(seconds: 3, frameRate: 5).filter { $0.kind == .video },
      descriptions: [TestSamples.h264]),
    Case(name: "sound is told and never comes", samples: Self.pictures),
    Case(name: "sound", samples: Self.sounds, descriptions: [TestSamples.aac]),
    Case(
      name: "sound starts 2 s later",
      samples: TestSamples.stream(seconds: 5).filter {
        $0.kind == .video || $0.decodeTime >= .zero + .seconds(12)
      }),
    Case(
      name: "pictures pause for 12 s while sound goes on",
      samples: TestSamples.stream(seconds: 15).filter {
        $0.kind == .audio || $0.decodeTime < .zero + .seconds(11) || $0.decodeTime >= .zero + .seconds(23)
      }, lead: 841),
    Case(
      name: "sound ends",
      samples: TestSamples.stream(seconds: 5).filter { $0.kind == .video || $0.decodeTime < .zero + .seconds(11) },
      lead: 841),
    Case(name: "sound is 250 ms late", samples: Self.late(.audio, by: .milliseconds(250)), lead: 591),
    Case(name: "pictures are 250 ms late", samples: Self.late(.video, by: .milliseconds(250)), lead: 591),
    // More than 300 ms cannot be known before: until the clock has waited, 400 ms of the track are lost.
    Case(name: "sound is 700 ms late", samples: Self.late(.audio, by: .milliseconds(700)), skipped: 18, lead: 841),
    Case(name: "pictures are 700 ms late", samples: Self.late(.video, by: .milliseconds(700)), skipped: 30, lead: 841),
    // But for what comes when there are no more pictures, a second is too much.
    Case(name: "sound is a second late", samples: Self.late(.audio, by: .seconds(1)), skipped: 196, lead: 841),
    Case(name: "sound comes when it is over", samples: Self.pictures + Self.sounds.prefix(5), skipped: 5),
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

  @Test func `behind a picture that came too late none is written before a keyframe`() throws {
    let start = MediaTime.zero + .seconds(10)
    /// A keyframe, sound a second ahead, the picture of 900 ms before it, and those after.
    var samples = [TestSamples.picture(at: start, isKeyframe: true)]
    samples += (0..<48).map { TestSamples.sound(at: start + .ticks($0 * 1024, timescale: 48_000)) }
    samples += [33, 1000, 1033].map { TestSamples.picture(at: start + .milliseconds($0)) }
    samples += [1066, 1100].map { TestSamples.picture(at: start + .milliseconds($0), isKeyframe: $0 == 1066) }
    let stream = MuxedStream(samples)
    #expect(stream.skippedSampleCount == 3)
    let times = try stream.times(0x100).map { $0.timestamp / 27_000 - 10_300 }
    #expect(times == [0, 1066, 1100])
  }

  @Test func `a track that is gone does not hold the clock`() throws {
    var muxer = TransportStreamMuxer([TestSamples.h264, TestSamples.aac])
    var buffer = ByteBuffer()
    muxer.startSegment(into: &buffer)
    muxer.mux(TestSamples.sound(at: .zero + .seconds(1)), into: &buffer)
    muxer.mux(TestSamples.picture(at: .zero + .seconds(1), isKeyframe: true), into: &buffer)
    muxer.flush(into: &buffer)
    muxer.change(to: [TestSamples.h264])
    muxer.startSegment(into: &buffer)
    muxer.mux(TestSamples.picture(at: .zero + .milliseconds(1400), isKeyframe: true), into: &buffer)
    let clocks = MuxedStream.demux(buffer).compactMap { if case .clock(let clock) = $0 { clock } else { nil } }
    #expect(clocks.last == 1400 * 27_000)
  }

  @Test func `a gap of more than a second is not filled`() {
    let samples = [0, 1, 100].map { TestSamples.picture(at: .zero + .seconds($0 * 1000), size: 10) }
    #expect(MuxedStream.mux(samples).readableBytes == 188 * 5)
  }
}
