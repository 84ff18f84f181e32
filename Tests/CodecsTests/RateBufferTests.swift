import Codecs
import Foundation
import Media
import NIOCore
import TestSupport
import Testing

@Suite("Rate control buffer with real video")
struct RateBufferTests {
  private static let (width, height, bitrate) = (320, 180, 300_000)

  /// Bytes of a file of the test media as I420 frames, one after the other, without padding.
  private static func frames() throws -> Data {
    let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let (ffmpeg, output) = (Process(), Pipe())
    ffmpeg.executableURL = URL(filePath: "/usr/bin/env")
    ffmpeg.arguments = [
      "ffmpeg", "-v", "error", "-nostdin", "-i", top.appending(path: ".build-media/bigbuckbunny.mp4").path,
      "-vf", "scale=\(Self.width):\(Self.height)", "-pix_fmt", "yuv420p", "-f", "rawvideo", "-",
    ]
    ffmpeg.standardOutput = output
    try ffmpeg.run()
    return ffmpeg.finish(reading: output)
  }

  /// Sizes of the keyframes, one each second, without the first.
  private static func keyframes(_ frames: Data, length: MediaDuration) throws -> [Int] {
    let encoder = try LibavH264Encoder(
      VideoEncoderSettings(
        width: Self.width, height: Self.height, frameRate: 25, bitrate: Self.bitrate, keyframeInterval: .seconds(1),
        rateBuffer: length))
    let size = Self.width * Self.height * 3 / 2
    var keyframes: [Int] = []
    for index in 0..<frames.count / size {
      let buffer = PixelBuffer(format: VideoFormat(width: Self.width, height: Self.height, pixelFormat: .i420))
      var place = frames.startIndex + index * size
      for plane in 0..<3 {
        let (columns, rows) = plane == 0 ? (Self.width, Self.height) : (Self.width / 2, Self.height / 2)
        for row in 0..<rows {
          let target = buffer.unsafePlane(plane)[(row * buffer.format.bytesPerRow[plane])...].prefix(columns)
          UnsafeMutableRawBufferPointer(rebasing: target).copyBytes(from: frames[place..<place + columns])
          place += columns
        }
      }
      let frame = VideoFrame(buffer: buffer, timestamp: FrameRate(25).time(ofFrame: Int64(index), from: .zero))
      try encoder.encode(ReleasedFrame(notPrivate: frame), forcesKeyframe: false) { sample in
        if sample.isKeyframe { keyframes.append(sample.payload.readableBytes) }
      }
    }
    return Array(keyframes.dropFirst())
  }

  /// Promise of `docs/configuration.md`: at most 60% of the size with a second, and never more than the buffer holds.
  @Test func `a buffer of a quarter second makes keyframes much smaller than one of a second`() throws {
    let frames = try Self.frames()
    let (short, usual) = (
      try Self.keyframes(frames, length: .milliseconds(250)), try Self.keyframes(frames, length: .seconds(1))
    )
    try #require(short.count >= 4 && usual.count == short.count)
    #expect(short.reduce(0, +) * 10 <= usual.reduce(0, +) * 6, "\(short) \(usual)")
    #expect(short.allSatisfy { $0 * 8 <= Self.bitrate / 4 }, "\(short)")
  }
}
