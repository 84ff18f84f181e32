import CYUV
import Effects
import Foundation
import Media
import Streaming

/// Converts 720p YUYV frames to the encoder's format, for a tool that counts instructions:
///
///     ConvertBenchmark canvas [mirror] ROUNDS    as the pipeline does
///     ConvertBenchmark libyuv [mirror] ROUNDS    with bare libyuv calls that do the same work
///
/// With 0 rounds everything is allocated and nothing is converted.
@main
struct Convert {
  private static let format = VideoFormat(width: 1280, height: 720, pixelFormat: .yuyv)
  private static let canvas = VideoFormat(width: 1280, height: 720)

  static func main() {
    var arguments = CommandLine.arguments.dropFirst()
    let mode = arguments.popFirst()
    let isMirrored = arguments.first == "mirror"
    if isMirrored { arguments.removeFirst() }
    guard let mode, ["canvas", "libyuv"].contains(mode), arguments.count == 1,
      let rounds = arguments.first.flatMap({ Int($0) }), rounds >= 0
    else {
      FileHandle.standardError.write(Data("usage: ConvertBenchmark canvas|libyuv [mirror] ROUNDS\n".utf8))
      exit(64)
    }
    let source = PixelBuffer(format: Self.format)
    for index in 0..<Self.format.byteCount(plane: 0) {
      source.unsafePlane(0)[index] = UInt8(truncatingIfNeeded: index)
    }
    let sum =
      mode == "canvas"
      ? Self.draw(source, isMirrored: isMirrored, rounds: rounds)
      : Self.convert(source, isMirrored: isMirrored, rounds: rounds)
    print(sum)
  }

  private static func draw(_ source: PixelBuffer, isMirrored: Bool, rounds: Int) -> Int {
    let canvas = FrameConverter(format: Self.canvas, scaling: .fit)
    var sum = 0
    for round in 0..<rounds {
      let time = MediaTime.zero + .milliseconds(Int64(round))
      let frame = VideoFrame(buffer: source, timestamp: time, isMirrored: isMirrored)
      sum += canvas.draw(frame, matrix: .bt601)?.withPlane(0) { Int($0[640]) } ?? 0
    }
    return sum
  }

  private static func convert(_ source: PixelBuffer, isMirrored: Bool, rounds: Int) -> Int {
    let buffers = [PixelBuffer(format: Self.canvas), PixelBuffer(format: Self.canvas)]
    let pointers = buffers.map { buffer in
      (0..<3).map { buffer.unsafePlane($0).baseAddress!.assumingMemoryBound(to: UInt8.self) }
    }
    let pixels = source.unsafePlane(0).baseAddress!.assumingMemoryBound(to: UInt8.self)
    let (converted, mirrored) = (pointers[0], pointers[1])
    var sum = 0
    for _ in 0..<rounds {
      YUY2ToI420(pixels, 2560, converted[0], 1280, converted[1], 640, converted[2], 640, 1280, 720)
      if isMirrored {
        I420Mirror(
          converted[0], 1280, converted[1], 640, converted[2], 640, mirrored[0], 1280, mirrored[1], 640, mirrored[2],
          640,
          1280, 720)
      }
      sum += Int(isMirrored ? mirrored[0][640] : converted[0][640])
    }
    // The pointers refer to these buffers.
    withExtendedLifetime((source, buffers)) {}
    return sum
  }
}
