import Effects
import Foundation
import Media
import TestSupport
import Testing

@Suite("Images for masks and overlays")
struct OverlayImageTests {
  /// A file that ffmpeg makes of its test pattern.
  private static func file(_ arguments: String) throws -> [UInt8] {
    let (ffmpeg, output) = (Process(), Pipe())
    ffmpeg.executableURL = URL(filePath: "/usr/bin/env")
    ffmpeg.arguments = ["ffmpeg", "-v", "error", "-nostdin"] + arguments.split(separator: " ").map(String.init)
    ffmpeg.standardOutput = output
    try ffmpeg.run()
    return [UInt8](ffmpeg.finish(reading: output))
  }

  private static func png(_ size: String = "40x30", _ format: String = "rgba") throws -> [UInt8] {
    try Self.file(
      "-f lavfi -i color=c=0xFF8000@0.5:s=\(size),format=rgba -frames:v 1 -pix_fmt \(format) -c:v png -f image2pipe -")
  }

  private static func error(_ bytes: [UInt8]) -> VidiconError? {
    do {
      _ = try OverlayImage(parsing: bytes, name: "logo.png")
      return nil
    } catch { return error }
  }

  @Test func `a PNG keeps its colors and its transparency`() throws {
    let image = try OverlayImage(parsing: Self.png(), name: "logo.png")
    #expect((image.width, image.height) == (40, 30))
    #expect(Array(image.pixels[0..<4]) == [255, 128, 0, 128] || Array(image.pixels[0..<4]) == [255, 128, 0, 127])
    #expect(image.pixels.count == 4 * 40 * 30)
  }

  @Test(arguments: ["rgb24", "gray", "ya8", "rgba64be", "rgb48be", "monob"])
  func `a PNG of any pixel format is decoded`(format: String) throws {

    let image = try OverlayImage(parsing: Self.png("7x5", format), name: "logo.png")
    #expect((image.width, image.height) == (7, 5))
    if format == "rgb24" { #expect(Array(image.pixels[0..<4]) == [255, 128, 0, 255]) }
  }

  @Test func `a JPEG is decoded without transparency`() throws {
    let bytes = try Self.file("-f lavfi -i color=c=0xFF8000:s=40x30 -frames:v 1 -c:v mjpeg -f image2pipe -")
    let image = try OverlayImage(parsing: bytes, name: "logo.jpg")
    #expect((image.width, image.height) == (40, 30))
    #expect(image.pixels[3] == 255 && abs(Int(image.pixels[0]) - 255) < 6 && abs(Int(image.pixels[1]) - 128) < 6)
    for length in stride(from: 0, to: bytes.count, by: 7) { #expect(Self.error(Array(bytes.prefix(length))) != nil) }
  }

  @Test func `an animated PNG gives its first frame`() throws {
    let bytes = try Self.file("-f lavfi -i testsrc=s=32x24:d=0.2:r=25 -c:v apng -f apng -")
    let image = try OverlayImage(parsing: bytes, name: "moving.png")
    #expect((image.width, image.height) == (32, 24))
  }

  @Test func `every truncated or damaged file is refused with a reason or decoded`() throws {
    let bytes = try Self.png("9x9")
    for length in 0..<bytes.count { #expect(Self.error(Array(bytes.prefix(length))) != nil) }
    for place in bytes.indices {
      var broken = bytes
      broken[place] ^= 0x55
      if let image = try? OverlayImage(parsing: broken, name: "logo.png") {
        #expect(image.pixels.count == 4 * image.width * image.height)
      }
    }
    #expect(Self.error([])?.description == "logo.png: the file is empty; save it again as PNG")
    #expect(
      Self.error(Array("GIF89a".utf8))?.description
        == "logo.png: neither a PNG nor a JPEG file; save it again as PNG")
    #expect(Self.error(Array(bytes.dropLast(3)))?.cause == "the file is truncated")
  }

  @Test(arguments: [(20_000, 20_000), (8193, 1), (1, 8193), (8192, 8192), (0x7FFF_FFFF, 0x7FFF_FFFF)])
  func `an image that is too large is refused before it is decoded`(width: Int, height: Int) throws {

    var bytes = try Self.png("1x1")
    for (place, value) in [(16, width), (20, height)] {
      for byte in 0..<4 { bytes[place + byte] = UInt8(value >> (24 - 8 * byte) & 0xFF) }
    }
    #expect(Self.error(bytes)?.code == .invalidData)
    #expect(
      Self.error(bytes)?.description
        == "logo.png: has \(width) × \(height) pixels, more than 8192 × 8192 or 16 million in all; "
        + "make it smaller; images of the stream's size are large enough")
  }

  @Test func `the smallest image is one pixel`() throws {
    #expect(try OverlayImage(parsing: Self.png("1x1"), name: "dot.png").pixels.count == 4)
  }

  @Test func `a missing or unreadable file, and a folder, are reported in one line`() throws {
    func error(_ path: String) -> VidiconError? {
      do {
        _ = try OverlayImage(path: path)
        return nil
      } catch { return error }
    }
    #expect(
      error("/nowhere/a.png")?.description
        == "/nowhere/a.png: the image does not exist; check the path and its permissions")
    #expect(error("/tmp")?.cause == "is not a file")
    #expect(error("/dev/zero")?.cause == "is not a file")
    let file = FileManager.default.temporaryDirectory.appending(path: "vidicon-\(UUID()).png")
    defer { try? FileManager.default.removeItem(at: file) }
    try Data(Self.png()).write(to: file)
    #expect(try OverlayImage(path: file.path).width == 40)
  }
}
