import Foundation
import Media

/// Pictures of the test media, as ffmpeg decodes them.
enum RealPicture {
  /// A picture of a file as I420.
  static func frame(_ name: String, width: Int, height: Int, at second: Double? = nil) throws -> VideoFrame {
    let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let ffmpeg = Process()
    let output = Pipe()
    ffmpeg.executableURL = URL(filePath: "/usr/bin/env")
    ffmpeg.arguments = [
      "ffmpeg", "-v", "error", "-nostdin",
    ]
    // A still picture knows no time.
    if let second { ffmpeg.arguments? += ["-ss", "\(second)"] }
    ffmpeg.arguments? += [
      "-i", top.appending(path: ".build-media/\(name)").path,
      "-frames:v", "1", "-vf", "scale=\(width):\(height):out_range=tv:out_color_matrix=bt601", "-pix_fmt", "yuv420p",
      "-f", "rawvideo", "-",
    ]
    ffmpeg.standardOutput = output
    try ffmpeg.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    ffmpeg.waitUntilExit()
    struct Missing: Error {}
    guard bytes.count == width * height * 3 / 2 else { throw Missing() }
    let buffer = PixelBuffer(format: VideoFormat(width: width, height: height, pixelFormat: .i420))
    var place = bytes.startIndex
    for plane in 0..<3 {
      let (columns, rows) = plane == 0 ? (width, height) : (width / 2, height / 2)
      for row in 0..<rows {
        let target = buffer.unsafePlane(plane)[(row * buffer.format.bytesPerRow[plane])...].prefix(columns)
        UnsafeMutableRawBufferPointer(rebasing: target).copyBytes(from: bytes[place..<place + columns])
        place += columns
      }
    }
    return VideoFrame(buffer: buffer, timestamp: .zero)
  }
}
