internal import CEffects
internal import CYUV
public import Media

/// Drawing operations on an I420 frame. Everything is clipped to the frame.
struct Canvas {
  let buffer: PixelBuffer
  private let planes: vidicon_canvas

  /// A canvas on a frame buffer that nothing else reads or writes.
  init(_ buffer: PixelBuffer) {
    let format = buffer.format
    precondition(format.pixelFormat == .i420, "a stream's frames are I420")
    func plane(_ index: Int) -> UnsafeMutablePointer<UInt8>? {
      buffer.unsafePlane(index).baseAddress?.assumingMemoryBound(to: UInt8.self)
    }
    self.buffer = buffer
    self.planes = vidicon_canvas(
      luma: plane(0), cb: plane(1), cr: plane(2), luma_stride: format.bytesPerRow[0],
      chroma_stride: format.bytesPerRow[1], width: format.width, height: format.height)
  }

  var width: Int { self.planes.width }
  var height: Int { self.planes.height }

  /// The intersection of a box and the frame, extended to even coordinates; nil when empty.
  func area(from low: SIMD2<Float>, to high: SIMD2<Float>) -> FrameRegion? {
    FrameRegion(from: low, to: high, width: self.width, height: self.height)
  }

  /// Draws an image.
  ///
  /// - Parameter opacity: 0 to 1.
  func draw(_ image: ImageLayers, _ placement: ImagePlacement, opacity: Float = 1) {
    let opacity = UInt32(256 * max(0, min(1, opacity)))
    guard opacity > 0, let back = placement.inverse else { return }
    let (width, height) = (Float(image.width), Float(image.height))
    // Edges fade out over one pixel of the layer.
    let soft = SIMD2(repeating: 2 + 2 * (Self.length(placement.right) + Self.length(placement.down)))
    let (first, last) = (placement(SIMD2(0, 0)), placement(SIMD2(width, height)))
    let (second, third) = (placement(SIMD2(width, 0)), placement(SIMD2(0, height)))
    let low = pointwiseMin(pointwiseMin(first, last), pointwiseMin(second, third)) - soft
    let high = pointwiseMax(pointwiseMax(first, last), pointwiseMax(second, third)) + soft
    guard let area = self.area(from: low, to: high) else { return }
    let reduction = min(Self.length(back.right), Self.length(back.down))
    image.withLayer(for: reduction) { layer, scale in
      // Converts from corners to pixel centers, half a pixel further, in both images.
      let origin = (back.origin + (back.right + back.down) / 2) / scale - 0.5
      let (right, down) = (back.right / scale, back.down / scale)
      var (canvas, layer, area) = (self.planes, layer, area.raw)
      var placement = vidicon_placement(
        origin_x: origin.x, origin_y: origin.y, right_x: right.x, right_y: right.y, down_x: down.x, down_y: down.y)
      vidicon_draw_layer(&canvas, &layer, &placement, &area, opacity)
    }
    withExtendedLifetime(self.buffer) {}
  }

  /// Fills a region of the frame.
  func fill(_ area: FrameRegion, _ color: FrameColor) {
    _ = I420Rect(
      self.planes.luma, Int32(self.planes.luma_stride), self.planes.cb, Int32(self.planes.chroma_stride),
      self.planes.cr, Int32(self.planes.chroma_stride), Int32(area.x), Int32(area.y), Int32(area.width),
      Int32(area.height), Int32(color.luma), Int32(color.cb), Int32(color.cr))
    withExtendedLifetime(self.buffer) {}
  }

  /// Replaces each luma, Cb and Cr sample by its entry in a table of 256 values.
  func lookUp(luma: [UInt8], cb: [UInt8], cr: [UInt8]) {
    let (columns, rows) = ((self.width + 1) / 2, (self.height + 1) / 2)
    vidicon_look_up(self.planes.luma, self.planes.luma_stride, self.width, self.height, luma)
    vidicon_look_up(self.planes.cb, self.planes.chroma_stride, columns, rows, cb)
    vidicon_look_up(self.planes.cr, self.planes.chroma_stride, columns, rows, cr)
    withExtendedLifetime(self.buffer) {}
  }

  /// Pointers to the frame's planes at a position, for libyuv.
  func pointers(x: Int = 0, y: Int = 0) -> FramePointers {
    FramePointers(
      luma: self.planes.luma + y * self.planes.luma_stride + x,
      cb: self.planes.cb + y / 2 * self.planes.chroma_stride + x / 2,
      cr: self.planes.cr + y / 2 * self.planes.chroma_stride + x / 2,
      lumaStride: Int32(self.planes.luma_stride), chromaStride: Int32(self.planes.chroma_stride))
  }

  private static func length(_ vector: SIMD2<Float>) -> Float { (vector * vector).sum().squareRoot() }
}

/// Pointers to the planes of an I420 frame; valid while the buffer is retained.
struct FramePointers {
  var luma: UnsafeMutablePointer<UInt8>
  var cb: UnsafeMutablePointer<UInt8>
  var cr: UnsafeMutablePointer<UInt8>
  var lumaStride: Int32
  var chromaStride: Int32
}

extension Canvas {
  /// Draws a region of another frame scaled to fit, with black bars.
  func place(_ source: Canvas, _ part: FrameRegion) {
    var size = SIMD2(self.width, self.height)
    if part.width * self.height > self.width * part.height {
      size.y = max(1, self.width * part.height / part.width)
    } else {
      size.x = max(1, self.height * part.width / part.height)
    }
    let (x, y) = ((self.width - size.x) / 2 & ~1, (self.height - size.y) / 2 & ~1)
    if size.x < self.width || size.y < self.height {
      self.fill(FrameRegion(width: self.width, height: self.height), FrameColor(luma: 16))
    }
    let (from, to) = (source.pointers(x: part.x, y: part.y), self.pointers(x: x, y: y))
    _ = I420Scale(
      from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride, Int32(part.width),
      Int32(part.height), to.luma, to.lumaStride, to.cb, to.chromaStride, to.cr, to.chromaStride, Int32(size.x),
      Int32(size.y), kFilterBox)
    withExtendedLifetime((source.buffer, self.buffer)) {}
  }
}

/// A color in limited-range Y, Cb, Cr.
public struct FrameColor: Hashable, Sendable {
  /// Luma: 16 (black) to 235 (white).
  public var luma: UInt8
  /// Blue difference (Cb): 16 to 240, 128 for gray.
  public var cb: UInt8
  /// Red difference (Cr): 16 to 240, 128 for gray.
  public var cr: UInt8

  /// Creates a gray from 16 (black) to 235 (white).
  public init(luma: UInt8) {
    (self.luma, self.cb, self.cr) = (luma, 128, 128)
  }

  /// Converts red, green and blue to the color of a matrix.
  public init(red: UInt8, green: UInt8, blue: UInt8, matrix: ColorMatrix = .bt601) {
    let weights = matrix.weights
    func sum(_ row: Int, _ offset: Int32) -> UInt8 {
      let value = weights[row] * Int32(red) + weights[row + 1] * Int32(green) + weights[row + 2] * Int32(blue)
      return UInt8(clamping: (value + 32768) >> 16 + offset)
    }
    (self.luma, self.cb, self.cr) = (sum(0, 16), sum(3, 128), sum(6, 128))
  }
}

/// Region of a frame with even coordinates, except at the right and bottom edge of a frame of odd size.
struct FrameRegion: Hashable {
  let x: Int
  let y: Int
  let width: Int
  let height: Int

  /// Creates the region of a whole frame.
  init(width: Int, height: Int) {
    (self.x, self.y, self.width, self.height) = (0, 0, width, height)
  }

  /// Intersects a box with a frame and extends it to even coordinates; nil when empty.
  init?(from low: SIMD2<Float>, to high: SIMD2<Float>, width: Int, height: Int) {
    func bounded(_ value: Float, _ limit: Int) -> Float { max(0, min(value, Float(limit))) }
    // Comparisons with NaN are false.
    guard low.x < high.x, low.y < high.y else { return nil }
    let (left, top) = (Int(bounded(low.x, width)) & ~1, Int(bounded(low.y, height)) & ~1)
    let right = min(width, (Int(bounded(high.x, width).rounded(.up)) + 1) & ~1)
    let bottom = min(height, (Int(bounded(high.y, height).rounded(.up)) + 1) & ~1)
    guard left < right, top < bottom else { return nil }
    (self.x, self.y, self.width, self.height) = (left, top, right - left, bottom - top)
  }

  var raw: vidicon_area { vidicon_area(x: self.x, y: self.y, width: self.width, height: self.height) }
}
