import Capture

/// Reads the number in a video frame's timecode strip.
enum Strip {
  static func read(_ luma: UnsafeRawBufferPointer, width: Int, height: Int) -> Int? {
    TimecodeStrip.read(from: luma, width: width, height: height, bytesPerRow: width).map { Int($0) - 1 }
  }
}
