import Media
import Testing

@Suite("Fitting of a frame into another size")
struct VideoFormatFittingTests {
  /// Size of a frame, size that it is fitted into, and the size of the frame there.
  @Test(
    arguments: [
      ((1280, 720), (1280, 720), (1280, 720)),  // the same
      ((1280, 720), (640, 360), (640, 360)),  // the same ratio
      ((640, 480), (1280, 720), (960, 720)),  // bars at the sides
      ((1920, 1080), (640, 480), (640, 360)),  // bars above and below
      ((720, 1280), (1280, 720), (404, 720)),  // upright
      ((1366, 768), (1280, 720), (1280, 720)),  // a pixel is no reason for bars
      ((854, 480), (1280, 720), (1280, 720)),
      ((10_000, 2), (64, 48), (64, 2)),  // not less than two rows
      ((2, 10_000), (64, 48), (2, 48)),
      ((1, 1), (64, 48), (48, 48)),
    ] as [((Int, Int), (Int, Int), (Int, Int))])
  func `the ratio stays, and the rest is bars`(size: (Int, Int), target: (Int, Int), fitted: (Int, Int)) {
    let result = VideoFormat(width: size.0, height: size.1)
      .fittedSize(in: VideoFormat(width: target.0, height: target.1))
    #expect(result == fitted)
  }

  @Test func `of any sizes the frame touches two sides, is even there, and keeps its ratio within two pixels`() {
    for width in stride(from: 16, through: 2000, by: 123) {
      for height in stride(from: 16, through: 2000, by: 117) {
        for (targetWidth, targetHeight) in [(1280, 720), (640, 480), (360, 640), (1920, 1080)] {
          let fitted = VideoFormat(width: width, height: height)
            .fittedSize(in: VideoFormat(width: targetWidth, height: targetHeight))
          let text = "\(width)×\(height) in \(targetWidth)×\(targetHeight): \(fitted)"
          #expect(fitted.width == targetWidth || fitted.height == targetHeight, "\(text)")
          #expect(fitted.width <= targetWidth && fitted.height <= targetHeight, "\(text)")
          #expect(fitted.width.isMultiple(of: 2) && fitted.height.isMultiple(of: 2), "\(text)")
          guard min(fitted.width, fitted.height) > 2 else { continue }
          // The exact length of the side that does not fill the target.
          let (exactWidth, exactHeight) = (
            Double(fitted.height) * Double(width) / Double(height),
            Double(fitted.width) * Double(height) / Double(width)
          )
          let isNear = abs(exactWidth - Double(fitted.width)) <= 4 || abs(exactHeight - Double(fitted.height)) <= 4
          #expect(isNear, "\(text)")
        }
      }
    }
  }
}

@Suite("Planes to draw into")
struct DrawingPlaneTests {
  /// Fills a rectangle of a plane of 6 × 4 with rows of 8 bytes.
  private static func filled(x: Int, y: Int, width: Int, height: Int) -> [String] {
    var bytes = [UInt8](repeating: UInt8(ascii: "."), count: 8 * 4)
    bytes.withUnsafeMutableBytes {
      DrawingPlane($0, width: 6, height: 4, bytesPerRow: 8)
        .fill(x: x, y: y, width: width, height: height, value: UInt8(ascii: "#"))
    }
    return stride(from: 0, to: bytes.count, by: 8).map { String(decoding: bytes[$0..<$0 + 8], as: UTF8.self) }
  }

  private static let empty = "........"

  @Test func `a rectangle is filled, and the ends of the rows are not`() {
    #expect(Self.filled(x: 1, y: 1, width: 2, height: 2) == [Self.empty, ".##.....", ".##.....", Self.empty])
    #expect(Self.filled(x: 0, y: 0, width: 6, height: 4) == Array(repeating: "######..", count: 4))
  }

  @Test(
    arguments: [
      (-2, -2, 3, 3, ["#.......", empty, empty, empty]),
      (5, 3, 9, 9, [empty, empty, empty, ".....#.."]),
      (-5, 1, 99, 1, [empty, "######..", empty, empty]),
      (2, -7, 1, 99, Array(repeating: "..#.....", count: 4)),
    ] as [(Int, Int, Int, Int, [String])])
  func `a rectangle is clipped at the edges`(x: Int, y: Int, width: Int, height: Int, rows: [String]) {
    #expect(Self.filled(x: x, y: y, width: width, height: height) == rows)
  }

  @Test(arguments: [(6, 0), (0, 4), (-3, 0), (0, -3), (100, 100), (-100, -100)])
  func `a rectangle outside fills nothing`(x: Int, y: Int) {
    #expect(Self.filled(x: x, y: y, width: 3, height: 3) == Array(repeating: Self.empty, count: 4))
    #expect(Self.filled(x: 2, y: 2, width: 0, height: 3) == Array(repeating: Self.empty, count: 4))
    #expect(Self.filled(x: 2, y: 2, width: 3, height: -1) == Array(repeating: Self.empty, count: 4))
  }
}
