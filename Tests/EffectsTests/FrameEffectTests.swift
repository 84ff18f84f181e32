import Media
import Testing

@testable import Effects

@Suite("Effects on whole frames")
struct FrameEffectTests {
  /// A frame whose luma encodes a pixel's position: a quarter of its column plus an offset per row.
  private static func frame(_ width: Int, _ height: Int) -> PixelBuffer {
    let buffer = DrawingTests.frame(width, height)
    let luma = buffer.unsafePlane(0).bindMemory(to: UInt8.self)
    for y in 0..<height {
      for x in 0..<width { luma[y * buffer.format.bytesPerRow[0] + x] = UInt8(16 + x * 100 / width + y * 100 / height) }
    }
    return buffer
  }

  private static func apply(_ effect: any VideoEffect, _ buffer: PixelBuffer) -> (Int, Int) -> Int {
    var frame = EffectFrame(buffer: buffer, timestamp: .zero, budget: .seconds(1))
    let chain = EffectChain([effect])
    #expect(chain.process(&frame, now: { .zero }) == EffectChain.Outcome())
    #expect(DrawingTests.areGapsUntouched(buffer))
    return { DrawingTests.sample(frame.buffer, 0, $0, $1) }
  }

  @Test(arguments: [(32, 20), (33, 21), (1, 1), (2, 3)])
  func `a mirror swaps left and right`(width: Int, height: Int) {
    let before = Self.frame(width, height)
    let expected = (0..<width).map { DrawingTests.sample(before, 0, $0, height - 1) }
    let after = Self.apply(Mirror(), before)
    #expect((0..<width).map { after($0, height - 1) } == expected.reversed())
  }

  @Test func `a half turn rotates the frame, a quarter turn also scales it to fit`() {
    let before = Self.frame(64, 32)
    let (first, last) = (DrawingTests.sample(before, 0, 0, 0), DrawingTests.sample(before, 0, 63, 31))
    let after = Self.apply(Rotate(.down), before)
    #expect(after(63, 31) == first && after(0, 0) == last)
    let turned = Self.apply(Rotate(.right), Self.frame(64, 32))
    // 16 of 64 columns, in the center; the top left corner moves to the right.
    #expect(turned(5, 16) == 16 && turned(60, 16) == 16)
    #expect(abs(turned(38, 1) - first) < 12 && abs(turned(25, 30) - last) < 12)
    #expect(Self.apply(Rotate(.up), Self.frame(8, 8))(0, 0) == 16)
  }

  /// A sample of a rotated frame, and its expected luma.
  private typealias Sample = (x: Int, y: Int, luma: Int)

  @Test func `frames of any size can be rotated`() {
    // A quarter turn of 33 × 31 is scaled to 29 × 31, between columns 2 and 30; one of 2 × 50 to 2 × 1, in row 24, where
    // a sample is the average of 25 rows.
    let cases: [(orientation: Orientation, width: Int, height: Int, samples: [Sample])] = [
      (.down, 1, 1, [(0, 0, 16)]), (.right, 1, 1, [(0, 0, 16)]), (.left, 1, 1, [(0, 0, 16)]),
      (.down, 33, 31, [(32, 30, 16), (0, 0, 208), (32, 0, 112), (0, 30, 112)]),
      (.right, 33, 31, [(30, 0, 16), (2, 30, 208), (2, 0, 112), (30, 30, 112), (0, 15, 16), (32, 15, 16)]),
      (.left, 33, 31, [(2, 30, 16), (30, 0, 208), (2, 0, 112), (30, 30, 112), (0, 15, 16), (32, 15, 16)]),
      (.down, 2, 50, [(1, 49, 16), (0, 0, 164), (1, 0, 114), (0, 49, 66)]),
      (.right, 2, 50, [(0, 24, 115), (1, 24, 65), (0, 0, 16), (1, 49, 16)]),
      (.left, 2, 50, [(0, 24, 65), (1, 24, 115), (0, 0, 16), (1, 49, 16)]),
    ]
    for (orientation, width, height, samples) in cases {
      let after = Self.apply(Rotate(orientation), Self.frame(width, height))
      // A half turn moves samples, a quarter turn also filters them.
      let tolerance = orientation == .down ? 0 : 11
      for (x, y, luma) in samples {
        #expect(abs(after(x, y) - luma) <= tolerance, "\(orientation), \(width) × \(height): \(x), \(y)")
      }
    }
  }

  @Test func `a crop enlarges its region and keeps its aspect ratio`() {
    let half = Self.apply(Crop(x: 0.5, y: 0.5, width: 0.5, height: 0.5), Self.frame(64, 32))
    #expect(abs(half(0, 0) - 116) < 4 && abs(half(63, 31) - 210) < 4)
    let tall = Self.apply(Crop(x: 0, y: 0, width: 0.25, height: 1), Self.frame(64, 32))
    #expect(tall(2, 16) == 16 && tall(60, 16) == 16 && tall(32, 30) > 90)
    for value in [Float.nan, -1, 0, .infinity] {
      _ = Self.apply(Crop(x: value, y: value, width: value, height: value), Self.frame(33, 31))
    }
    #expect(Self.apply(Crop(x: 2, y: 2, width: 1, height: 1), Self.frame(64, 32))(0, 0) == 16)
  }

  @Test func `colors are adjusted as requested, and zeros change nothing`() {
    func after(_ effect: ColorAdjust) -> (Int, Int, Int) {
      let buffer = DrawingTests.frame(8, 8)
      _ = Self.apply(effect, buffer)
      return (
        DrawingTests.sample(buffer, 0, 3, 3), DrawingTests.sample(buffer, 1, 2, 2), DrawingTests.sample(buffer, 2, 2, 2)
      )
    }
    // All samples are 100.
    #expect(after(ColorAdjust()) == (100, 100, 100))
    #expect(after(ColorAdjust(brightness: 0.5)) == (155, 100, 100))
    #expect(after(ColorAdjust(brightness: 9)) == (210, 100, 100))
    #expect(after(ColorAdjust(contrast: -1)).0 == 126 && after(ColorAdjust(contrast: 1)).0 == 75)
    #expect(after(ColorAdjust(saturation: -1)) == (100, 128, 128))
    #expect(after(ColorAdjust(saturation: 1)) == (100, 72, 72))
    #expect(after(ColorAdjust(temperature: 1)) == (100, 72, 128))
    _ = after(ColorAdjust(brightness: .nan, contrast: .infinity, saturation: -.infinity, temperature: .nan))
  }

  @Test(arguments: OverlayPosition.allCases) func `an image is placed at its position`(position: OverlayPosition) {
    let image = OverlayImage(width: 8, height: 4, pixels: Array(repeating: 255, count: 4 * 32))
    let after = Self.apply(ImageOverlay(image: image, position: position, margin: 0), DrawingTests.frame(64, 32))
    let white = (0..<32).flatMap { y in (0..<64).filter { after($0, y) == 235 }.map { SIMD2($0, y) } }
    let (left, top) = (white.map(\.x).min() ?? -1, white.map(\.y).min() ?? -1)
    #expect(white.count == 32)
    let name = position.rawValue
    #expect(left == (name.hasSuffix("left") ? 0 : name.hasSuffix("right") ? 56 : 28))
    #expect(top == (name.hasPrefix("top") ? 0 : name.hasPrefix("bottom") ? 28 : 14))
  }

  @Test func `an image is scaled to a fraction of the frame, and never larger than the frame`() {
    func width(_ image: (Int, Int), part: Float?) -> Int {
      let image = OverlayImage(
        width: image.0, height: image.1, pixels: Array(repeating: 255, count: 4 * image.0 * image.1))
      let after = Self.apply(
        ImageOverlay(image: image, position: .center, part: part, margin: 0), DrawingTests.frame(64, 32))
      // Edges are antialiased.
      return (0..<64).count { after($0, 16) > 167 }
    }
    #expect(width((8, 4), part: 0.5) == 32)
    #expect(width((800, 400), part: nil) == 64)
    #expect(width((800, 400), part: 0.25) == 16)
  }

  @Test func `a clock draws the time, in frames that are large enough`() {
    let clock = TextClock(position: .topLeft) { "12:34:56" }
    let after = Self.apply(clock, DrawingTests.frame(320, 240))
    let white = (0..<240).reduce(0) { sum, y in sum + (0..<320).count { after($0, y) == 235 } }
    #expect(white > 50)
    for size in [(1, 1), (32, 32), (47, 7), (33, 200)] { _ = Self.apply(clock, DrawingTests.frame(size.0, size.1)) }
    _ = Self.apply(TextClock(), DrawingTests.frame(320, 240))
    _ = Self.apply(TextClock(position: .center) { "" }, DrawingTests.frame(320, 240))
  }
}
