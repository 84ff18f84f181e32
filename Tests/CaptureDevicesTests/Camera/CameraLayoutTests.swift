import Media
import Testing

@testable import CaptureDevices

@Suite("Camera buffer layout")
struct CameraLayoutTests {
  private func planes(_ fourCC: FourCC, _ width: Int, _ height: Int, _ bytesPerLine: Int...) throws -> [[Int]] {
    let pixels = try #require(CameraPixels(fourCC: fourCC))
    return CameraLayout(pixels, width: width, height: height, bytesPerLine: bytesPerLine).planes
      .map { [$0.memory, $0.offset, $0.bytesPerRow, $0.rowCount] }
  }

  @Test func `planes follow each other, with the row length of the driver`() throws {
    #expect(try self.planes(.yuyv, 640, 480, 1280) == [[0, 0, 1280, 480]])
    #expect(try self.planes(.yuyv, 640, 480, 1344) == [[0, 0, 1344, 480]])
    #expect(try self.planes(.nv12, 640, 480, 704) == [[0, 0, 704, 480], [0, 337_920, 704, 240]])
    #expect(
      try self.planes(FourCC("YU12"), 640, 480, 704) == [
        [0, 0, 704, 480], [0, 337_920, 352, 240], [0, 422_400, 352, 240],
      ])
    #expect(try self.planes(FourCC("422P"), 64, 48, 64) == [[0, 0, 64, 48], [0, 3072, 32, 48], [0, 4608, 32, 48]])
    #expect(try self.planes(.nv12InTwo, 640, 480, 704, 640) == [[0, 0, 704, 480], [1, 0, 640, 240]])
    #expect(try self.planes(.mjpeg, 640, 480, 0) == [])
  }

  @Test func `row lengths below the minimum are replaced`() throws {
    #expect(try self.planes(.yuyv, 640, 480, 0) == [[0, 0, 1280, 480]])
    #expect(try self.planes(.yuyv, 640, 480, 640) == [[0, 0, 1280, 480]])
    #expect(try self.planes(.yuyv, 640, 480) == [[0, 0, 1280, 480]])
    #expect(try self.planes(FourCC("YU12"), 15, 9, 15) == [[0, 0, 15, 9], [0, 135, 8, 5], [0, 175, 8, 5]])
    #expect(try self.planes(.nv12InTwo, 640, 480, 640) == [[0, 0, 640, 480], [1, 0, 640, 240]])
  }

  @Test func `a memory must hold every pixel to be copied, and every row to be referenced`() throws {
    let pixels = try #require(CameraPixels(fourCC: .yuyv))
    let layout = CameraLayout(pixels, width: 64, height: 48, bytesPerLine: [160])
    #expect(layout.fits(in: [160 * 47 + 128]) && !layout.fits(in: [160 * 47 + 127]) && !layout.fits(in: []))
    #expect(layout.fitsWhole(in: [160 * 48]) && !layout.fitsWhole(in: [160 * 48 - 1]))
    let hostile = CameraLayout(pixels, width: 16_384, height: 16_384, bytesPerLine: [Int(UInt32.max)])
    #expect(!hostile.fits(in: [Int(UInt32.max)]))
  }

  @Test func `the bits per pixel are those of the planes`() {
    let bits: [(FourCC, Int?)] = [
      (.yuyv, 16), (.nv12, 12), (.nv12InTwo, 12), (FourCC("YU12"), 12), (FourCC("RGB3"), 24), (FourCC("XR24"), 32),
      (FourCC("422P"), 16), (FourCC("GREY"), 8), (.mjpeg, nil), (.h264, nil),
    ]
    for (fourCC, count) in bits { #expect(CameraPixels(fourCC: fourCC)?.bitsPerPixel == count, "\(fourCC)") }
  }

  @Test(arguments: [("YUYV", 0x5659_5559), ("Y16 ", 0x2036_3159), ("MJPG", 0x4750_4A4D)] as [(StaticString, UInt32)])
  func `a FourCC is read from its lowest byte on`(text: StaticString, number: UInt32) {
    #expect(FourCC(text).rawValue == number)
    #expect(FourCC(rawValue: number) == FourCC(text))
  }

  @Test func `a FourCC that is not printable is shown as a number`() {
    #expect(FourCC("Y16").description == "Y16")
    #expect(FourCC(rawValue: 0xFF00_0001).description == "0xff000001")
  }
}
