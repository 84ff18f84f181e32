import Media
import TestSupport
import Testing

@testable import Effects

@Suite("Drawing on frames")
struct DrawingTests {
  /// A gray frame with padding between its rows; the padding has a value that must not change.
  static func frame(_ width: Int, _ height: Int) -> PixelBuffer {
    let buffer = PixelBuffer(
      format: VideoFormat(
        width: width, height: height, bytesPerRow: [width + 8, (width + 1) / 2 + 8, (width + 1) / 2 + 8]))
    for plane in 0..<3 {
      let bytes = buffer.unsafePlane(plane).bindMemory(to: UInt8.self)
      bytes.update(repeating: 7)
      let columns = plane == 0 ? width : (width + 1) / 2
      for row in 0..<(plane == 0 ? height : (height + 1) / 2) {
        for column in 0..<columns { bytes[row * buffer.format.bytesPerRow[plane] + column] = 100 }
      }
    }
    return buffer
  }

  static func sample(_ buffer: PixelBuffer, _ plane: Int, _ x: Int, _ y: Int) -> Int {
    Int(buffer.unsafePlane(plane)[y * buffer.format.bytesPerRow[plane] + x])
  }

  static func areGapsUntouched(_ buffer: PixelBuffer) -> Bool {
    (0..<3).allSatisfy { plane in
      let (width, height) = (buffer.format.width, buffer.format.height)
      let columns = plane == 0 ? width : (width + 1) / 2
      return (0..<(plane == 0 ? height : (height + 1) / 2)).allSatisfy { row in
        (columns..<columns + 8).allSatisfy { Self.sample(buffer, plane, $0, row) == 7 }
      }
    }
  }

  /// An image of one color.
  static func image(_ width: Int, _ height: Int, _ color: [UInt8] = [255, 255, 255, 255]) -> ImageLayers {
    let pixels = (0..<width * height).flatMap { _ in color }
    return ImageLayers(OverlayImage(width: width, height: height, pixels: pixels), matrix: .bt601)
  }

  @Test func `an image aligned to pixels fills exactly its box`() {
    let buffer = Self.frame(16, 12)
    let image = Self.image(4, 4)
    Canvas(buffer).draw(image, ImagePlacement(x: 4, y: 2, width: 4, height: 4, of: (4, 4)))
    for y in 0..<12 {
      for x in 0..<16 {
        let isInside = (4..<8).contains(x) && (2..<6).contains(y)
        #expect(Self.sample(buffer, 0, x, y) == (isInside ? 235 : 100))
      }
    }
    #expect(Self.sample(buffer, 1, 2, 1) == 128 && Self.sample(buffer, 2, 3, 2) == 128)
    #expect(Self.sample(buffer, 1, 1, 1) == 100 && Self.sample(buffer, 1, 4, 1) == 100)
    #expect(Self.areGapsUntouched(buffer))
  }

  @Test func `at half a pixel offset an edge has half the opacity`() {
    let buffer = Self.frame(16, 12)
    Canvas(buffer).draw(Self.image(4, 4), ImagePlacement(x: 4.5, y: 2, width: 4, height: 4, of: (4, 4)))
    #expect((166...169).contains(Self.sample(buffer, 0, 4, 4)))
    #expect(Self.sample(buffer, 0, 5, 4) == 235)
    #expect((166...169).contains(Self.sample(buffer, 0, 8, 4)))
    #expect(Self.sample(buffer, 0, 9, 4) == 100)
  }

  @Test func `opacity and alpha both attenuate an image`() {
    for (alpha, opacity) in [(UInt8(128), Float(1)), (255, 0.5)] {
      let buffer = Self.frame(16, 12)
      let image = Self.image(4, 4, [255, 255, 255, alpha])
      Canvas(buffer).draw(image, ImagePlacement(x: 4, y: 2, width: 4, height: 4, of: (4, 4)), opacity: opacity)
      #expect((166...169).contains(Self.sample(buffer, 0, 5, 4)))
    }
    let buffer = Self.frame(16, 12)
    Canvas(buffer).draw(Self.image(4, 4), ImagePlacement(x: 4, y: 2, width: 4, height: 4, of: (4, 4)), opacity: .nan)
    #expect(Self.areGapsUntouched(buffer))
  }

  @Test(arguments: [ColorMatrix.bt601, .bt709]) func `colors are those of the stream's matrix`(matrix: ColorMatrix) {
    // Pure red: ITU-R BT.601 has 81, 90, 240, BT.709 has 63, 102, 240.
    let color = FrameColor(red: 255, green: 0, blue: 0, matrix: matrix)
    let expected = matrix == .bt601 ? (81, 90, 240) : (63, 102, 240)
    #expect((Int(color.luma), Int(color.cb), Int(color.cr)) == expected)
    let image = OverlayImage(width: 2, height: 2, pixels: (0..<4).flatMap { _ in [255, 0, 0, 255] as [UInt8] })
    let buffer = Self.frame(4, 4)
    Canvas(buffer).draw(ImageLayers(image, matrix: matrix), ImagePlacement(x: 0, y: 0, width: 4, height: 4, of: (2, 2)))
    #expect(Self.sample(buffer, 0, 2, 2) == expected.0)
  }

  @Test func `a quarter turn moves the image's right side to the bottom`() {
    var pixels = [UInt8](repeating: 255, count: 4 * 16)
    // The right half is black.
    for y in 0..<4 { for x in 2..<4 { for channel in 0..<3 { pixels[4 * (4 * y + x) + channel] = 0 } } }
    let image = ImageLayers(OverlayImage(width: 4, height: 4, pixels: pixels), matrix: .bt601)
    let buffer = Self.frame(16, 16)
    // The centers of its left and right edges are mapped to points one above the other.
    let placement = ImagePlacement(SIMD2(0, 2), SIMD2(4, 2), upon: SIMD2(8, 4), SIMD2(8, 12))
    Canvas(buffer).draw(image, placement)
    #expect(Self.sample(buffer, 0, 8, 5) == 235 && Self.sample(buffer, 0, 8, 10) == 16)
    #expect(Self.sample(buffer, 0, 5, 5) == 235 && Self.sample(buffer, 0, 2, 8) == 100)
    let back = placement.inverse.map { $0(SIMD2(8, 12)) }
    #expect(back.map { abs($0.x - 4) < 1e-4 && abs($0.y - 2) < 1e-4 } == true)
  }

  @Test(arguments: [(1, 1), (2, 1), (1, 3), (7, 5), (32, 32), (33, 31), (64, 2)])
  func `nothing is written outside a frame of any size`(width: Int, height: Int) {
    let seed: UInt64 = 1
    var random = SplitMix(seed: seed)
    let image = Self.image(13, 9, [200, 30, 30, 200])
    var painter = ShapePainter()
    for round in 0..<60 {
      let buffer = Self.frame(width, height)
      let canvas = Canvas(buffer)
      func any(_ range: ClosedRange<Float>) -> Float { Float.random(in: range, using: &random) }
      let place = SIMD2(any(-20...80), any(-20...60))
      let other = place + SIMD2(any(-40...40), any(-40...40))
      canvas.draw(image, ImagePlacement(SIMD2(0, 4), SIMD2(13, 4), upon: place, other))
      let styles: [ShapePainter.Style] = [.solid(FrameColor(luma: 40)), .blur, .pixelate, .smooth(0.7)]
      for style in styles {
        let shape = ShapePainter.Shape(
          kind: Bool.random(using: &random) ? .oval : .box, center: place, right: SIMD2(any(-30...30), any(-30...30)),
          down: SIMD2(any(-30...30), any(-30...30)), feather: any(-1...20))
        painter.paint(shape, style, on: canvas)
      }
      #expect(Self.areGapsUntouched(buffer), "seed \(seed), round \(round)")
    }
  }

  @Test func `placements that are not finite, empty or far away draw nothing`() {
    let buffer = Self.frame(32, 32)
    let image = Self.image(2, 2)
    var painter = ShapePainter()
    for value in [Float.nan, .infinity, -.infinity, 1e30, 0] {
      let far = SIMD2(value, value)
      Canvas(buffer).draw(image, ImagePlacement(SIMD2(0, 0), SIMD2(1, 0), upon: far, far))
      Canvas(buffer).draw(image, ImagePlacement(SIMD2(0, 0), SIMD2(1, 0), upon: SIMD2(0, 0), far * 0))
      painter.paint(.init(kind: .oval, center: SIMD2(9, 9), right: far, down: far * 0), .blur, on: Canvas(buffer))
      if value != 0 {
        painter.paint(
          .init(kind: .oval, center: far, right: SIMD2(4, 0), down: SIMD2(0, 4)), .blur, on: Canvas(buffer))
      }
    }
    #expect((0..<32).allSatisfy { y in (0..<32).allSatisfy { Self.sample(buffer, 0, $0, y) == 100 } })
  }

  @Test func `a shape much larger than the frame fills it`() {
    for style in [ShapePainter.Style.solid(FrameColor(luma: 40)), .blur, .pixelate, .smooth(1)] {
      for size: Float in [1e6, 1e15, 1e30] {
        let buffer = Self.frame(33, 31)
        var painter = ShapePainter()
        painter.paint(
          .init(kind: .box, center: SIMD2(5, 5), right: SIMD2(size, 0), down: SIMD2(0, size)), style,
          on: Canvas(buffer))
        if case .solid = style, size < 1e16 {
          #expect(Self.sample(buffer, 0, 32, 30) == 40 && Self.sample(buffer, 0, 0, 0) == 40)
        }
        #expect(Self.areGapsUntouched(buffer))
      }
    }
  }

  @Test func `a large frame can be drawn on up to its last pixel`() {
    let buffer = Self.frame(4096, 2160)
    Canvas(buffer).draw(Self.image(2, 2), ImagePlacement(x: 4094, y: 2158, width: 2, height: 2, of: (2, 2)))
    #expect(Self.sample(buffer, 0, 4095, 2159) == 235 && Self.sample(buffer, 0, 4093, 2159) == 100)
    #expect(Self.areGapsUntouched(buffer))
  }

  @Test func `an oval covers its center, half of its edge, and no corner`() {
    let buffer = Self.frame(64, 64)
    var painter = ShapePainter()
    painter.paint(
      .init(kind: .oval, center: SIMD2(32, 32), right: SIMD2(20, 0), down: SIMD2(0, 10), feather: 2),
      .solid(FrameColor(luma: 40)), on: Canvas(buffer))
    #expect(Self.sample(buffer, 0, 32, 32) == 40)
    #expect(Self.sample(buffer, 0, 48, 32) == 40 && Self.sample(buffer, 0, 55, 32) == 100)
    #expect(Self.sample(buffer, 0, 32, 44) == 100)
    #expect(Self.sample(buffer, 0, 49, 39) == 100)
    #expect((50..<55).contains { (45...95).contains(Self.sample(buffer, 0, $0, 32)) })
  }

  @Test func `blur and pixelation remove details, smoothing keeps edges`() {
    func checkered() -> PixelBuffer {
      let buffer = Self.frame(128, 128)
      let luma = buffer.unsafePlane(0).bindMemory(to: UInt8.self)
      // Fine noise everywhere, and one vertical edge.
      for y in 0..<128 {
        for x in 0..<128 {
          luma[y * buffer.format.bytesPerRow[0] + x] = (x < 64 ? 60 : 180) + ((x + y) % 2 == 0 ? 8 : 0)
        }
      }
      return buffer
    }
    func paint(_ style: ShapePainter.Style) -> (noise: Int, edge: Int) {
      let buffer = checkered()
      var painter = ShapePainter()
      painter.paint(
        .init(kind: .box, center: SIMD2(64, 64), right: SIMD2(60, 0), down: SIMD2(0, 60)), style, on: Canvas(buffer))
      let row = (30..<100).map { Self.sample(buffer, 0, $0, 64) }
      return (abs(row[1] - row[0]), abs(row[37] - row[30]))
    }
    #expect(paint(.solid(FrameColor(luma: 40))) == (0, 0))
    let (blurred, squares, smooth) = (paint(.blur), paint(.pixelate), paint(.smooth(1)))
    #expect(blurred.noise <= 1 && blurred.edge < 100)
    #expect(squares.noise <= 1)
    #expect(smooth.noise <= 3 && smooth.edge > 110)
    #expect(paint(.smooth(0)).noise == 8)
  }
}
