import Foundation
import Media
import TestSupport

/// Frames of the test media, decoded by ffmpeg.
enum RealImage {
  /// Path of a file of the test media.
  static func path(_ name: String) -> String {
    let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return top.appending(path: ".build-media/\(name)").path
  }

  /// A frame of a file as I420.
  static func frame(_ name: String, width: Int, height: Int, at second: Double? = nil) throws -> VideoFrame {
    let ffmpeg = Process()
    let output = Pipe()
    ffmpeg.executableURL = URL(filePath: "/usr/bin/env")
    ffmpeg.arguments = [
      "ffmpeg", "-v", "error", "-nostdin",
    ]
    // A still image has no timeline to seek in.
    if let second { ffmpeg.arguments? += ["-ss", "\(second)"] }
    ffmpeg.arguments? += [
      "-i", Self.path(name),
      "-frames:v", "1", "-vf", "scale=\(width):\(height):out_range=tv:out_color_matrix=bt601", "-pix_fmt", "yuv420p",
      "-f", "rawvideo", "-",
    ]
    ffmpeg.standardOutput = output
    try ffmpeg.run()
    let bytes = ffmpeg.finish(reading: output)
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

  /// Calls `body` with each frame of a film and its number, from a frame on, until it returns false.
  static func forEach(
    _ name: String, width: Int, height: Int, from start: Int = 0, filter: String? = nil,
    _ body: (Int, PixelBuffer) throws -> Bool
  ) throws {
    let (ffmpeg, output) = (Process(), Pipe())
    ffmpeg.executableURL = URL(filePath: "/usr/bin/env")
    let scale = "scale=\(width):\(height):out_range=tv:out_color_matrix=bt601"
    ffmpeg.arguments = [
      "ffmpeg", "-v", "error", "-nostdin", "-i", Self.path(name), "-vf",
      ["trim=start_frame=\(start),setpts=PTS-STARTPTS", scale, filter].compactMap(\.self).joined(separator: ","),
      "-fps_mode", "passthrough", "-pix_fmt", "yuv420p", "-f", "rawvideo", "-",
    ]
    ffmpeg.standardOutput = output
    try ffmpeg.run()
    defer {
      // ffmpeg otherwise waits for a reader of the remaining output, even when it is terminated.
      try? output.fileHandleForReading.close()
      ffmpeg.terminate()
      ffmpeg.finish()
    }
    let sizes = [width * height, width / 2 * (height / 2), width / 2 * (height / 2)]
    var index = start
    while let bytes = try Self.read(output.fileHandleForReading, sizes.reduce(0, +)) {
      let buffer = PixelBuffer(format: VideoFormat(width: width, height: height))
      var place = 0
      for (plane, size) in sizes.enumerated() {
        buffer.unsafePlane(plane).copyBytes(from: bytes[place..<place + size])
        place += size
      }
      guard try body(index, buffer) else { return }
      index += 1
    }
    struct Missing: Error {}
    if index == start { throw Missing() }
  }

  private static func read(_ file: FileHandle, _ count: Int) throws -> Data? {
    var bytes = Data()
    while bytes.count < count {
      guard let more = try file.read(upToCount: count - bytes.count), !more.isEmpty else { return nil }
      bytes += more
    }
    return bytes
  }
}
