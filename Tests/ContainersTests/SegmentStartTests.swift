import Media
import NIOCore
import Testing

@testable import Containers

@Suite("First frame of a media segment, RFC 8216 §3")
struct SegmentStartTests {
  private static let start = MediaTime.zero + .seconds(100)

  @Test(arguments: [true, false])
  func `a fragment of MP4 starts with a keyframe by the flags of its first sample of video`(isKeyframe: Bool) throws {
    var muxer = FragmentedMP4Muxer([TestSamples.h264, TestSamples.aac])
    let fragment = muxer.fragment(
      [
        TestSamples.videoSample(at: Self.start, isKeyframe: isKeyframe), TestSamples.audioSample(at: Self.start),
        TestSamples.videoSample(at: Self.start + .milliseconds(33)),
      ])
    let start = try SegmentStart(parsing: fragment, initialization: muxer.initializationSegment())
    #expect(start == (isKeyframe ? .keyframe : .otherFrame))
  }

  @Test(arguments: [true, false])
  func `a transport stream starts with a keyframe by the slices of its first frame`(isKeyframe: Bool) throws {
    let stream = MuxedStream.mux([
      TestSamples.audioSample(at: Self.start), TestSamples.videoSample(at: Self.start, isKeyframe: isKeyframe),
      TestSamples.videoSample(at: Self.start + .milliseconds(33), isKeyframe: true),
    ])
    #expect(try SegmentStart(parsing: stream, initialization: nil) == (isKeyframe ? .keyframe : .otherFrame))
  }

  @Test func `segments without video have no such frame, and other bytes are refused`() throws {
    let audio = MuxedStream.mux([TestSamples.audioSample(at: Self.start)], [TestSamples.aac])
    #expect(try SegmentStart(parsing: audio, initialization: nil) == .unknown)
    let video = MuxedStream.mux([TestSamples.videoSample(at: Self.start, isKeyframe: true)])
    for length in 1..<video.readableBytes {
      let prefix = ByteBuffer(bytes: video.readableBytesView.prefix(length))
      #expect(throws: Never.self) { try SegmentStart(parsing: prefix, initialization: nil) }
    }
    #expect(throws: ParsingError.self) { try SegmentStart(parsing: ByteBuffer(string: "<html>"), initialization: nil) }
    #expect(throws: ParsingError.self) {
      try SegmentStart(parsing: ByteBuffer(string: "<html>"), initialization: ByteBuffer())
    }
  }
}
