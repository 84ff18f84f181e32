import CLibav
import Media
import Testing

@testable import Codecs

@Suite("Shapes of pixels")
struct DisplaySizeTests {
  private static func size(_ width: Int, _ height: Int, _ num: Int32, _ den: Int32) -> [Int] {
    let size = DisplaySize(width: width, height: height, pixel: AVRational(num: num, den: den))
    return [size.width, size.height]
  }

  @Test func `pixels become square by enlarging`() {
    // PAL 16:9 and 4:3, NTSC 16:9, 1080N, HDV.
    #expect(Self.size(720, 576, 64, 45) == [1024, 576] && Self.size(720, 576, 16, 15) == [768, 576])
    #expect(Self.size(720, 480, 32, 27) == [854, 480] && Self.size(960, 1080, 2, 1) == [1920, 1080])
    #expect(Self.size(1440, 1080, 4, 3) == [1920, 1080] && Self.size(720, 480, 8, 9) == [720, 540])
  }

  @Test func `ratios that are unknown, damaged or beyond the limits leave the size`() {
    for (num, den) in [(0, 1), (1, 0), (0, 0), (-4, 3), (1, 1), (1000, 1001), (100, 1), (1, 100)] as [(Int32, Int32)] {
      #expect(Self.size(720, 576, num, den) == [720, 576], "\(num):\(den)")
    }
    #expect(Self.size(8192, 4096, 3, 1) == [8192, 4096])
  }

  @Test func `a frame is fitted with bars at two sides, or none`() {
    func fitted(_ width: Int, _ height: Int, into other: (Int, Int)) -> [Int] {
      let rectangle = DisplaySize(width: width, height: height, pixel: AVRational(num: 1, den: 1)).fitted(
        into: VideoFormat(width: other.0, height: other.1))
      return [rectangle.x, rectangle.y, rectangle.width, rectangle.height]
    }
    #expect(fitted(1280, 720, into: (1280, 720)) == [0, 0, 1280, 720])
    #expect(
      fitted(640, 360, into: (1280, 720)) == [0, 0, 1280, 720]
        && fitted(854, 480, into: (1280, 720)) == [0, 0, 1280, 720])
    #expect(fitted(1024, 576, into: (1024, 768)) == [0, 96, 1024, 576])
    #expect(fitted(720, 1280, into: (1280, 720)) == [436, 0, 406, 720])
    #expect(fitted(2, 2000, into: (640, 360)) == [318, 0, 2, 360])
  }
}
