import Foundation
import NIOCore
import TestSupport

/// A JPEG file as decoded by ffmpeg.
struct DecodedJPEG {
  struct Failure: Error {}

  let width: Int
  let height: Int
  private let rgb: [UInt8]

  init(_ file: ByteBuffer) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("vidicon-jpeg-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // Best effort.
    let (input, output) = (folder.appendingPathComponent("in.jpg"), folder.appendingPathComponent("out.ppm"))
    try Data(file.readableBytesView).write(to: input)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "ffmpeg", "-v", "error", "-nostdin", "-xerror", "-i", input.path, "-pix_fmt", "rgb24", "-sws_flags",
      "accurate_rnd+full_chroma_int", output.path,
    ]
    try process.run()
    process.finish()
    guard process.terminationStatus == 0 else { throw Failure() }
    // "P6
    // WIDTH HEIGHT
    // 255
    // " and three bytes per pixel.
    let bytes = [UInt8](try Data(contentsOf: output))
    let header = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 3, omittingEmptySubsequences: false)
    guard header.count == 4 else { throw Failure() }
    let size = header[1].split(separator: UInt8(ascii: " ")).compactMap { Int(String(decoding: $0, as: UTF8.self)) }
    guard size.count == 2, header[3].count == size[0] * size[1] * 3 else { throw Failure() }
    (self.width, self.height, self.rgb) = (size[0], size[1], Array(header[3]))
  }

  /// Red, green and blue of a pixel.
  func pixel(x: Int, y: Int) -> [Int] {
    let start = (y * self.width + x) * 3
    return self.rgb[start..<start + 3].map(Int.init)
  }
}
