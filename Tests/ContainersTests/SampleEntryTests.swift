import Media
import NIOCore
import Testing

@testable import Containers

@Suite("Video sample entries, ISO/IEC 14496-12 §12.1 and -15 §5.4")
struct SampleEntryTests {
  /// Written by libx264 (core 164) through ffmpeg 5.1 on Debian 12: 720×576, pixels 16:11 (aspect_ratio_idc 4),
  /// colors of BT.470 B/G.
  private static let high576With16To11: [UInt8] = [
    0x67, 0x64, 0x00, 0x1E, 0xAC, 0xD9, 0x40, 0xB4, 0x12, 0x6C, 0x11, 0xA8, 0x28, 0x28, 0x2A, 0x00, 0x00, 0x03, 0x00,
    0x02, 0x00, 0x00, 0x03, 0x00, 0x64, 0x1E, 0x2C, 0x5B, 0x2C,
  ]
  /// The same, 640×360, pixels 91:74 in full (aspect_ratio_idc 255), BT.709 in full range.
  private static let high360FullRangeWith91To74: [UInt8] = [
    0x67, 0x64, 0x00, 0x1E, 0xAC, 0xD9, 0x40, 0xA0, 0x2F, 0xF9, 0x7F, 0xF0, 0x05, 0xB0, 0x04, 0xA6, 0xE0, 0x20, 0x20,
    0x28, 0x00, 0x00, 0x03, 0x00, 0x08, 0x00, 0x00, 0x03, 0x01, 0x90, 0x78, 0xB1, 0x6C, 0xB0,
  ]

  private func description(_ set: [UInt8], width: Int, height: Int) -> CodecDescription {
    .h264(
      H264Description(
        sequenceParameterSet: set, pictureParameterSet: TestSamples.pictureParameterSet, width: width, height: height,
        frameRate: 25))
  }

  /// The bytes after the configuration.
  private func extensions(_ description: CodecDescription) throws -> [UInt8] {
    var buffer = ByteBuffer()
    SampleEntry(description).serialize(into: &buffer)
    let entry = try #require(try MP4Box.boxes(in: buffer).first)
    #expect(entry.type == "avc1")
    let configuration = try #require(try entry.children(skipping: 78).first)
    #expect(configuration.type == "avcC")
    return Array(entry.content.readableBytesView.dropFirst(78 + 8 + configuration.content.readableBytes))
  }

  @Test func `colors and the pixel aspect ratio are those that ffmpeg writes`() throws {
    let tall: [[UInt8]] = [
      [0, 0, 0, 0x13], Array("colr".utf8), Array("nclx".utf8),
      [0, 5], [0, 5], [0, 5],  // primaries, transfer, matrix
      [0x00],  // full_range_flag 0, reserved
      [0, 0, 0, 0x10], Array("pasp".utf8),
      [0, 0, 0, 16], [0, 0, 0, 11],  // hSpacing, vSpacing
    ]
    #expect(
      try self.extensions(self.description(Self.high576With16To11, width: 720, height: 576)) == tall.flatMap { $0 })
    // Boxes of a file that ffmpeg -movflags +write_colr made of the same stream.
    let full: [[UInt8]] = [
      [0, 0, 0, 0x13], Array("colr".utf8), Array("nclx".utf8), [0, 1], [0, 1], [0, 1],
      [0x80],  // full_range_flag 1
      [0, 0, 0, 0x10], Array("pasp".utf8), [0, 0, 0, 0x5B], [0, 0, 0, 0x4A],
    ]
    #expect(
      try self.extensions(self.description(Self.high360FullRangeWith91To74, width: 640, height: 360))
        == full.flatMap { $0 })
  }

  @Test func `absent fields are not written`() throws {
    // The set has a ratio of 1:1 and no colors.
    let square: [[UInt8]] = [[0, 0, 0, 0x10], Array("pasp".utf8), [0, 0, 0, 1], [0, 0, 0, 1]]
    #expect(try self.extensions(TestSamples.h264) == square.flatMap { $0 })
    #expect(try self.extensions(self.description([0x67, 0x64, 0, 0x1F], width: 2, height: 2)).isEmpty)
  }

  @Test func `the track header has the display width`() throws {
    // 720 × 16 / 11 = 1047, 640 × 91 / 74 = 787, in 16.16; a width of more than 16 bits is cut off.
    let cases: [(CodecDescription, UInt32, UInt32)] = [
      (self.description(Self.high576With16To11, width: 720, height: 576), 1047, 576),
      (self.description(Self.high360FullRangeWith91To74, width: 640, height: 360), 787, 360),
      (self.description(Self.high360FullRangeWith91To74, width: 60_000, height: 360), 65_535, 360),
      (TestSamples.h264, 1280, 720),
    ]
    for (description, width, height) in cases {
      let muxer = FragmentedMP4Muxer([description])
      let moov = try #require(try MP4Box.boxes(in: muxer.initializationSegment()).last)
      let header = try moov.child("trak").child("tkhd").content.readableBytesView.suffix(8)
      let expected = withUnsafeBytes(of: (UInt64(width) << 48 | UInt64(height) << 16).bigEndian, Array.init)
      #expect(Array(header) == expected)
    }
  }
}
