#if os(Linux)
import Capture
import Media
import Testing

@testable import CaptureDevices

@Suite("Screen pixels and regions")
struct ScreenPixelsTests {
  @Test(
    arguments: [
      (0xFF0000, 0xFF00, 0xFF, 32, true, .bgra), (0xFF0000, 0xFF00, 0xFF, 32, false, .argb),
      (0xF800, 0x7E0, 0x1F, 16, true, .rgb565), (0xF800, 0x7E0, 0x1F, 16, false, nil),
      (0x3FF0_0000, 0xFFC00, 0x3FF, 32, true, .rgb30), (0x3FF0_0000, 0xFFC00, 0x3FF, 32, false, nil),
      (0xFF, 0xFF00, 0xFF0000, 32, true, nil), (0xFF0000, 0xFF00, 0xFF, 24, true, nil), (0, 0, 0, 8, true, nil),
    ] as [(UInt32, UInt32, UInt32, UInt8, Bool, ScreenPixels?)])
  func `a visual's masks, depth and byte order select the layout`(
    red: UInt32, green: UInt32, blue: UInt32, bits: UInt8, isLittleEndian: Bool, pixels: ScreenPixels?
  ) {
    #expect(
      ScreenPixels(red: red, green: green, blue: blue, bitsPerPixel: bits, isLittleEndian: isLittleEndian) == pixels)
  }

  @Test func `rows are padded to 32 bits`() {
    #expect([1, 2, 3].map { ScreenPixels.rgb565.bytesPerRow(width: $0) } == [4, 4, 8])
    for pixels in [ScreenPixels.bgra, .argb, .rgb30] { #expect(pixels.bytesPerRow(width: 3) == 12) }
  }

  @Test(
    arguments: [
      (.bgra, [0x30, 0x20, 0x10, 0xFF]), (.argb, [0xFF, 0x10, 0x20, 0x30]),
      // 5, 6 and 5 bits: 0x10 >> 3, 0x20 >> 2 and 0x30 >> 3.
      (.rgb565, [0x06, 0x11, 0, 0]),
      // 10 bits each: 0x10, 0x20 and 0x30, shifted by 2.
      (.rgb30, [0xC0, 0x00, 0x02, 0xC4]),
    ] as [(ScreenPixels, [UInt8])])
  func `each layout is converted to BGRA`(pixels: ScreenPixels, bytes: [UInt8]) {
    let format = VideoFormat(width: 1, height: 3, pixelFormat: .bgra)
    let buffer = PixelBuffer(format: format)
    buffer.unsafePlane(0).copyBytes(from: Array(repeating: 0x77, count: buffer.unsafePlane(0).count))
    var source = Array(repeating: bytes, count: 3).flatMap { $0 }
    source.withUnsafeMutableBytes { source in
      guard let start = source.baseAddress else { return }
      pixels.convert(1..<3, of: start, to: buffer)
    }
    let rows = (0..<3).map { row in Array(buffer.unsafePlane(0)[(row * format.bytesPerRow[0])...].prefix(3)) }
    // Row 0 is not part of the range.
    #expect(rows[0] == [0x77, 0x77, 0x77])
    for row in rows.dropFirst() {
      #expect(zip(row, [0x30, 0x20, 0x10]).allSatisfy { abs(Int($0) - $1) <= 4 }, "\(row)")
    }
  }

  @Test func `rectangles intersect in their common part`() {
    typealias Region = ScreenSpecification.Region
    let region = Region(x: 10, y: 20, width: 30, height: 40)
    #expect(region.intersection(region) == region)
    #expect(region.intersection(Region(x: 0, y: 0, width: 15, height: 25)) == Region(x: 10, y: 20, width: 5, height: 5))
    #expect(
      region.intersection(Region(x: 39, y: 59, width: 9, height: 9)) == Region(x: 39, y: 59, width: 1, height: 1))
    // Adjacent rectangles do not overlap.
    #expect(region.intersection(Region(x: 40, y: 20, width: 5, height: 5)) == nil)
    #expect(region.intersection(Region(x: 10, y: 60, width: 5, height: 5)) == nil)
    #expect(Region(x: 0, y: 0, width: 1, height: 1).intersection(region) == nil)
  }

  @Test(arguments: [
    ("Editor", "Editor"), ("  two \n lines\t", "two lines"), ("\u{1B}[31mred", "[31mred"), ("a\u{202E}b", "a b"),
    ("", ""), ("Ünïcode 麦", "Ünïcode 麦"),
  ])
  func `a title is one line without control characters`(text: String, title: String) {
    #expect(ScreenDevices.title(text) == title)
    #expect(ScreenDevices.title(String(repeating: "a", count: 1_000)).count == 200)
  }
}
#endif
