import Bitstreams
import Capture
import Foundation
import Media
import MediaInput
import NIOCore
import TestSupport
import Testing

/// Telephones that write into the stream itself how they are held.
@Suite("Display orientation, ITU-T H.264 §D.2.27 and H.265 §D.3.17", .timeLimit(.minutes(5)))
struct DisplayOrientationTests {
  struct Codec: Sendable, CustomTestStringConvertible {
    var name: String
    var options: [String]
    /// Header of a NAL unit of messages.
    var header: [UInt8]
    /// Whether a NAL unit is a slice of a keyframe, by its first byte.
    var isKeySlice: @Sendable (UInt8) -> Bool

    var testDescription: String { self.name }
  }

  private static let codecs = [
    Codec(
      name: "h264", options: ["libx264", "-preset", "ultrafast"], header: [0x06], isKeySlice: { $0 & 0b1_1111 == 5 }),
    Codec(
      name: "hevc", options: ["libx265", "-preset", "ultrafast", "-x265-params", "bframes=0:log-level=none"],
      header: [0x4E, 0x01], isKeySlice: { (16...21).contains($0 >> 1 & 0b11_1111) }),
  ]

  /// Messages of a quarter turn anticlockwise, and of none, with the stop bit; by libavcodec 59 (h264_metadata).
  private static let (quarter, none): ([UInt8], [UInt8]) = (
    [0x2F, 0x03, 0x08, 0x00, 0x09, 0x80], [0x2F, 0x03, 0x00, 0x00, 0x09, 0x80]
  )

  /// A film of 10 frames as a byte stream with start codes: its first frame is its only keyframe, and has this message.
  private static func film(_ codec: Codec, _ message: [UInt8]) throws -> Data {
    let path = try TestMedia.path(
      "upright.\(codec.name)",
      ["-f", "lavfi", "-i", "testsrc2=s=160x96:r=25:d=0.4", "-pix_fmt", "yuv420p", "-c:v"] + codec.options)
    var film = Data()
    var count = 0
    for unit in AnnexBNALUnits(ByteBuffer(bytes: try Data(contentsOf: URL(filePath: path)))) {
      if count == 0, codec.isKeySlice(unit.readableBytesView.first ?? 0) {
        film.append(contentsOf: [0, 0, 0, 1] + codec.header + message)
        count += 1
      }
      film.append(contentsOf: [0, 0, 0, 1])
      film.append(contentsOf: unit.readableBytesView)
    }
    try #require(count == 1)
    return film
  }

  @Test(arguments: Self.codecs) func `frames are turned as the stream says, from keyframe to keyframe`(codec: Codec)
    throws
  {
    let (turned, upright) = (try Self.film(codec, Self.quarter), try Self.film(codec, Self.none))
    let path = try TestMedia.path("turned_upright.\(codec.name)", bytes: turned + upright)
    let found = try DecodedFile(path) { $0.orientation }.frames
    try #require(found.count == 20)
    // The message of a keyframe may come with the frame behind it.
    #expect(found.prefix(10).allSatisfy { $0 == .left } && found.suffix(9).allSatisfy { $0 == .up }, "\(found)")
    let later = try TestMedia.path("upright_turned.\(codec.name)", bytes: upright + turned)
    let others = try DecodedFile(later) { $0.orientation }.frames
    #expect(others == [Orientation](repeating: .up, count: 10) + [Orientation](repeating: .left, count: 10))
  }

  @Test func `H.264 of a network source that is to be turned is decoded, and other H.264 passed through`() throws {
    let server = try LocalServer.files(in: TestMedia.folder.path)
    for isTurned in [true, false] {
      let film = try Self.film(Self.codecs[0], isTurned ? Self.quarter : Self.none)
      let stream = try TestMedia.path("network_\(isTurned).h264", bytes: film + film + film)
      _ = try TestMedia.path("network_\(isTurned).ts", ["-i", stream, "-c", "copy"])
      let source = try NetworkSource(url: "http://127.0.0.1:\(server.port)/network_\(isTurned).ts")
      let video = try #require(source.video)
      let collector = SampleCollector()
      try video.start(consumer: collector)
      let state = collector.wait { max($0.frameCount, $0.samples.count) >= 15 }
      video.stop()
      if isTurned {
        #expect(state.samples.isEmpty && state.frameCount >= 15)
        #expect(state.frames.allSatisfy { $0.orientation == .left && !$0.isMirrored })
      } else {
        #expect(state.frameCount == 0 && state.samples.count >= 15)
      }
    }
  }
}
