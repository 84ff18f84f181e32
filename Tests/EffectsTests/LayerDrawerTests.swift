import CEffects
import Testing

@Suite("Drawing an image, with each instruction set")
struct LayerDrawerTests {
  /// An I420 image of odd size with some content, without padding.
  private struct Image: Equatable {
    static let (width, height) = (131, 67)
    static let (chromaWidth, chromaHeight) = (66, 34)

    var luma = (0..<131 * 67).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    var cb = (0..<66 * 34).map { UInt8(truncatingIfNeeded: $0 &* 5) }
    var cr = (0..<66 * 34).map { UInt8(truncatingIfNeeded: $0 &* 3) }

    mutating func draw(
      _ drawer: vidicon_layer_drawer, _ pixels: [UInt8], _ placement: vidicon_placement, opacity: UInt32
    ) {
      self.luma.withUnsafeMutableBufferPointer { luma in
        self.cb.withUnsafeMutableBufferPointer { cb in
          self.cr.withUnsafeMutableBufferPointer { cr in
            pixels.withUnsafeBufferPointer { pixels in
              var canvas = vidicon_canvas(
                luma: luma.baseAddress, cb: cb.baseAddress, cr: cr.baseAddress, luma_stride: Self.width,
                chroma_stride: Self.chromaWidth, width: Self.width, height: Self.height)
              var layer = vidicon_layer(pixels: pixels.baseAddress, width: 40, height: 30)
              var area = vidicon_area(x: 0, y: 0, width: Self.width, height: Self.height)
              var placement = placement
              drawer(&canvas, &layer, &placement, &area, opacity)
            }
          }
        }
      }
    }

    /// Reference implementation: bilinear interpolation between four pixels of the layer, blended over the content.
    mutating func drawPlainly(_ pixels: [UInt8], _ p: vidicon_placement, opacity: Double) {
      func sample(_ x: Int, _ y: Int, _ part: Int) -> Double {
        let u = Double(p.origin_x) + Double(p.right_x) * Double(x) + Double(p.down_x) * Double(y)
        let v = Double(p.origin_y) + Double(p.right_y) * Double(x) + Double(p.down_y) * Double(y)
        let (left, top) = (Int(u.rounded(.down)), Int(v.rounded(.down)))
        func tap(_ x: Int, _ y: Int) -> Double {
          (0..<40).contains(x) && (0..<30).contains(y) ? Double(pixels[4 * (y * 40 + x) + part]) : 0
        }
        let (across, down) = (u - Double(left), v - Double(top))
        let upper = tap(left, top) * (1 - across) + tap(left + 1, top) * across
        let lower = tap(left, top + 1) * (1 - across) + tap(left + 1, top + 1) * across
        return opacity * (upper * (1 - down) + lower * down)
      }
      func over(_ color: Double, _ alpha: Double, _ below: UInt8) -> UInt8 {
        UInt8(min(255, color + (255 - alpha) / 255 * Double(below)))
      }
      for y in 0..<Self.height {
        for x in 0..<Self.width {
          let place = y * Self.width + x
          self.luma[place] = over(sample(x, y, 0), sample(x, y, 3), self.luma[place])
        }
      }
      for y in 0..<Self.chromaHeight {
        for x in 0..<Self.chromaWidth {
          let columns = [2 * x, min(2 * x + 1, Self.width - 1)], rows = [2 * y, min(2 * y + 1, Self.height - 1)]
          func mean(_ part: Int) -> Double {
            columns.flatMap { column in rows.map { sample(column, $0, part) } }.reduce(0, +) / 4
          }
          let place = y * Self.chromaWidth + x
          self.cb[place] = over(mean(1), mean(3), self.cb[place])
          self.cr[place] = over(mean(2), mean(3), self.cr[place])
        }
      }
    }

    func differs(from other: Image) -> Int {
      let pairs = zip(self.luma + self.cb + self.cr, other.luma + other.cb + other.cr)
      return pairs.map { abs(Int($0) - Int($1)) }.max() ?? 0
    }
  }

  /// 40 × 30 pixels with premultiplied alpha.
  private static let pixels = (0..<1200).flatMap { index in
    let alpha = index % 7 == 0 ? 0 : 255 - index % 200
    return [(index * 13) % 256, (index * 3) % 256, 128, 255].map { UInt8($0 * alpha / 255) }
  }

  private static func placement(
    _ originX: Float, _ originY: Float, _ rightX: Float, _ rightY: Float, _ downX: Float, _ downY: Float
  ) -> vidicon_placement {
    vidicon_placement(
      origin_x: originX, origin_y: originY, right_x: rightX, right_y: rightY, down_x: downX, down_y: downY)
  }

  @Test(arguments: [
    Self.placement(0, 0, 1, 0, 0, 1), Self.placement(-20, -10, 0.5, 0, 0, 0.5),
    Self.placement(-3.3, -4.7, 0.4, 0.1, -0.1, 0.4),
    Self.placement(39, 29, -0.31, 0.02, -0.02, -0.45), Self.placement(-9, 20, 0.2, -0.3, 0.3, 0.2),
    Self.placement(-300, -90, 9, 0.5, -0.5, 7), Self.placement(5, -2, 0, 0.4, 0.4, 0),
    Self.placement(200, 0, 1, 0, 0, 1),
  ]) func `all instruction sets draw the same as the reference`(placement: vidicon_placement) {
    for opacity: UInt32 in [256, 100] {
      var expected = Image()
      expected.drawPlainly(Self.pixels, placement, opacity: Double(opacity) / 256)
      var images: [Image] = []
      while let drawer = vidicon_layer_drawer_at(images.count) {
        var image = Image()
        image.draw(drawer, Self.pixels, placement, opacity: opacity)
        images.append(image)
      }
      #expect(!images.isEmpty)
      for image in images {
        #expect(image == images[0])
        // Positions are in 64ths of a pixel, and values are rounded several times.
        #expect(image.differs(from: expected) <= 6)
      }
    }
  }
}
