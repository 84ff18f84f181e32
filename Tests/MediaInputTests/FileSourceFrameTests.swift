import Capture
import Foundation
import Media
import MediaInput
import TestSupport
import Testing
import Threading

@Suite("Frames of a file source", .timeLimit(.minutes(5)))
struct FileSourceFrameTests {
  @Test(arguments: [
    ("i420", "yuv420p"), ("nv12", "nv12"), ("bgra", "bgra"), ("bgra", "bgr0"), ("bgra", "argb"), ("rgb24", "rgb24"),
    ("yuyv", "yuyv422"), ("i420", "yuv422p"), ("i420", "yuv444p10le"), ("i420", "gray"), ("i420", "gbrp"),
    ("i420", "yuv410p"), ("i420", "rgb565le"), ("bgra", "ya8"),
  ])
  func `every pixel format is converted with the same colors`(format: String, pixelFormat: String) throws {

    // 33 × 17 pixels of red, or of the gray that red becomes.
    let path = try TestMedia.path(
      "red-\(pixelFormat).nut",
      [
        "-f", "lavfi", "-i", "color=0xC02010:s=64x64:r=25:d=0.4,scale=33:17,setsar=1", "-pix_fmt", pixelFormat, "-c:v",
        "rawvideo",
      ])
    let frame = try #require(try firstFrames(of: path).first)
    #expect(frame.format.width == 33 && frame.format.height == 17)
    #expect(frame.format.pixelFormat.rawValue == format)
    let bytes = pixels(frame)
    switch frame.format.pixelFormat {
    case .rgb24: #expect(isNear(bytes[0..<3], [0xC0, 0x20, 0x10]))
    case .argb: #expect(isNear(bytes[1..<4], [0xC0, 0x20, 0x10]))
    // The light of 0.299 × 192 + 0.587 × 32 + 0.114 × 16.
    case .bgra where pixelFormat == "ya8": #expect(isNear(bytes[0..<3], [78, 78, 78]))
    case .bgra: #expect(isNear(bytes[0..<3], [0x10, 0x20, 0xC0]))
    case .i420, .nv12, .yuyv:
      // BT.601: Y = 16 + 0.257 × 192 + 0.504 × 32 + 0.098 × 16, Cr = 128 + 0.439 × 192 - 0.368 × 32 - 0.071 × 16.
      #expect(abs(Int(bytes[0]) - 83) <= 6)
      if frame.format.pixelFormat == .i420, !pixelFormat.hasPrefix("gray") {
        #expect(abs(Int(pixels(frame, plane: 2)[20]) - 199) <= 8)
      }
    }
  }

  @Test func `full range is converted to limited range, whether the format or a flag states it`() throws {
    let white = ["-f", "lavfi", "-i", "color=white:s=64x48:r=25:d=0.4,scale=out_range=full,format=yuvj420p"]
    for (name, options) in [
      ("full.mjpeg", ["-c:v", "mjpeg", "-q:v", "1"]),
      ("full.mp4", ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "0", "-color_range", "pc"]),
    ] {
      let frame = try #require(try firstFrames(of: TestMedia.path(name, white + options)).first)
      #expect(frame.format.pixelFormat == .i420)
      #expect(abs(Int(pixels(frame)[100]) - 235) <= 1)
    }
  }

  @Test(arguments: [
    // FFmpeg 5.1 writes the angle anticlockwise.
    (90, Orientation.left), (180, .down), (270, .right), (0, .up),
  ])
  func `a rotation in the file becomes the frames' orientation`(rotation: Int, orientation: Orientation) throws {

    let path = try TestMedia.path(
      "rotated-\(rotation).mp4",
      ["-i", try TestMedia.flashAndBeep(), "-c", "copy", "-metadata:s:v", "rotate=\(rotation)"])
    let frame = try #require(try firstFrames(of: path).first)
    #expect(frame.orientation == orientation)
    #expect(!frame.isMirrored)
  }

  @Test func `the color matrix is the file's, or the one that players assume for the size`() throws {
    let cases: [(String, [String], ColorMatrix)] = [
      ("64x48", [], .bt601), ("1280x720", [], .bt709), ("1280x720", ["-colorspace", "smpte170m"], .bt601),
      ("64x48", ["-colorspace", "bt709"], .bt709),
    ]
    for (index, (size, options, matrix)) in cases.enumerated() {
      let path = try TestMedia.path(
        "matrix-\(index).mp4",
        ["-f", "lavfi", "-i", "color=red:s=\(size):r=25:d=0.2", "-pix_fmt", "yuv420p", "-preset", "ultrafast"] + options
      )
      #expect(try FileSource(path: path).video?.format.colorMatrix == matrix)
    }
  }

  @Test func `a still image is repeated`() throws {
    for name in ["still.png", "still.jpg", "still.gif"] {
      let path = try TestMedia.path(name, ["-f", "lavfi", "-i", "color=white:s=31x17", "-frames:v", "1"])
      let frames = try firstFrames(of: path, count: 8)
      try #require(frames.count == 8)
      for (frame, next) in zip(frames, frames.dropFirst()) {
        let distance = next.timestamp - frame.timestamp
        #expect(distance > .milliseconds(5))
        #expect(onQuietMachine(distance < .milliseconds(101)))
      }
    }
  }

  @Test func `a size that changes within the file is scaled to the first one`() throws {
    let large = try TestMedia.path(
      "large.h264", ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=0.2", "-pix_fmt", "yuv420p"])
    let small = try TestMedia.path(
      "small.h264", ["-f", "lavfi", "-i", "testsrc2=s=160x96:r=25:d=0.2", "-pix_fmt", "yuv420p"])
    let both = try Data(contentsOf: URL(fileURLWithPath: large)) + Data(contentsOf: URL(fileURLWithPath: small))
    let frames = try firstFrames(of: TestMedia.path("sizes.h264", bytes: both), count: 14)
    #expect(frames.count == 14)
    #expect(frames.allSatisfy { $0.format == frames[0].format && $0.format.width == 320 })
    #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
  }

  /// Whether colors are equal, within the tolerance of conversions.
  private func isNear(_ bytes: ArraySlice<UInt8>, _ expected: [UInt8]) -> Bool {
    bytes.count == expected.count && zip(bytes, expected).allSatisfy { abs(Int($0) - Int($1)) <= 4 }
  }
}
