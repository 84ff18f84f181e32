internal import CEffects
internal import CYUV
internal import Media

/// Fills, blurs, pixelates or smooths soft ovals and boxes of a frame. Its memory is reused from frame to frame.
struct ShapePainter {
  /// An oval or a box with any rotation.
  struct Shape {
    enum Kind {
      case oval
      case box
    }

    var kind: Kind
    var center: SIMD2<Float>
    /// Vector from the center to the right edge.
    var right: SIMD2<Float>
    /// Vector from the center to the lower edge.
    var down: SIMD2<Float>
    /// Width of the soft edge in pixels, at least 1; half of it is outside the shape.
    var feather: Float = 2
  }

  enum Style {
    case solid(FrameColor)
    case blur
    case pixelate
    /// Smooths with a strength from 0 to 1.
    case smooth(Float)
  }

  private var stamp = ScratchFrame()
  private var small = ScratchFrame()
  private var alpha = ScratchFrame()
  private var numbers: [Int32] = []

  /// Paints a shape, clipped to the frame.
  mutating func paint(_ shape: Shape, _ style: Style, on canvas: Canvas) {
    let (across, down) = (Self.length(shape.right), Self.length(shape.down))
    guard across > 0.5, down > 0.5, across.isFinite, down.isFinite else { return }
    let spread = pointwiseMax(shape.right, -shape.right) + pointwiseMax(shape.down, -shape.down)
    // A rotated oval is smaller than its bounding box; the rest is transparent.
    let reach = spread + shape.feather
    guard let area = canvas.area(from: shape.center - reach, to: shape.center + reach) else { return }
    let opacity: Float
    if case .smooth(let strength) = style { opacity = max(0, min(1, strength)) } else { opacity = 1 }
    let format = canvas.buffer.format
    let (stamp, alpha) = (Canvas(self.stamp.buffer(like: format)), Canvas(self.alpha.buffer(like: format)))
    self.fill(stamp, style, with: area, of: canvas, size: 2 * max(across, down))

    let origin = SIMD2(Float(area.x), Float(area.y)) + 0.5 - shape.center
    let (u, v) = (shape.right / (across * across), shape.down / (down * down))
    var placement = vidicon_placement(
      origin_x: (origin * u).sum(), origin_y: (origin * v).sum(), right_x: u.x, right_y: v.x, down_x: u.y, down_y: v.y)
    // At the edge the squared distance increases by 2 per radius.
    let hardness = min(across, down) / (2 * max(1, shape.feather))
    let mask = alpha.pointers()
    let kind = shape.kind == .oval ? vidicon_shape_oval : vidicon_shape_box
    vidicon_shape(
      mask.luma, Int(mask.lumaStride), area.width, area.height, &placement, Int32(kind), hardness, opacity)
    let (from, to) = (stamp.pointers(), canvas.pointers(x: area.x, y: area.y))
    _ = I420Blend(
      from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride, to.luma, to.lumaStride,
      to.cb, to.chromaStride, to.cr, to.chromaStride, mask.luma, mask.lumaStride, to.luma, to.lumaStride, to.cb,
      to.chromaStride, to.cr, to.chromaStride, Int32(area.width), Int32(area.height))
    withExtendedLifetime((stamp.buffer, alpha.buffer, canvas.buffer)) {}
  }

  /// Computes the replaced pixels of an area, at the top left of the stamp.
  ///
  /// - Parameter size: Size of the shape, in pixels.
  private mutating func fill(_ stamp: Canvas, _ style: Style, with area: FrameRegion, of canvas: Canvas, size: Float) {
    switch style {
    case .solid(let color): stamp.fill(FrameRegion(width: area.width, height: area.height), color)
    case .blur: self.reduce(stamp, area, of: canvas, cell: size / 16, isSmooth: true)
    case .pixelate: self.reduce(stamp, area, of: canvas, cell: size / 9, isSmooth: false)
    case .smooth: self.smooth(stamp, area, of: canvas, radius: size / 36)
    }
  }

  /// Scales the area down and up again.
  ///
  /// - Parameter cell: Number of pixels that become one.
  private mutating func reduce(
    _ stamp: Canvas, _ area: FrameRegion, of canvas: Canvas, cell: Float, isSmooth: Bool
  ) {
    let cell = max(2, cell)
    let width = max(1, Int(Float(area.width) / cell)), height = max(1, Int(Float(area.height) / cell))
    let small = Canvas(self.small.buffer(like: canvas.buffer.format))
    let source = canvas.pointers(x: area.x, y: area.y)
    let (middle, target) = (small.pointers(), stamp.pointers())
    let (areaWidth, areaHeight) = (Int32(area.width), Int32(area.height))
    _ = I420Scale(
      source.luma, source.lumaStride, source.cb, source.chromaStride, source.cr, source.chromaStride, areaWidth,
      areaHeight, middle.luma, middle.lumaStride, middle.cb, middle.chromaStride, middle.cr, middle.chromaStride,
      Int32(width), Int32(height), kFilterBox)
    if isSmooth {
      self.blur(middle.luma, Int(middle.lumaStride), width, height)
      self.blur(middle.cb, Int(middle.chromaStride), (width + 1) / 2, (height + 1) / 2)
      self.blur(middle.cr, Int(middle.chromaStride), (width + 1) / 2, (height + 1) / 2)
    }
    _ = I420Scale(
      middle.luma, middle.lumaStride, middle.cb, middle.chromaStride, middle.cr, middle.chromaStride, Int32(width),
      Int32(height), target.luma, target.lumaStride, target.cb, target.chromaStride, target.cr, target.chromaStride,
      areaWidth, areaHeight, isSmooth ? kFilterBilinear : kFilterNone)
    withExtendedLifetime(small.buffer) {}
  }

  /// Blurs a plane: with a high noise level the guided filter is a plain blur.
  private mutating func blur(_ plane: UnsafeMutablePointer<UInt8>, _ stride: Int, _ width: Int, _ height: Int) {
    self.makeRoom(width, height)
    vidicon_smooth(plane, stride, plane, stride, width, height, 1, 1e12, &self.numbers)
  }

  private mutating func smooth(_ stamp: Canvas, _ area: FrameRegion, of canvas: Canvas, radius: Float) {
    let (source, target) = (canvas.pointers(x: area.x, y: area.y), stamp.pointers())
    self.makeRoom(area.width, area.height)
    // Skin varies by about 10 of 255; eyes, mouth and outline by much more.
    vidicon_smooth(
      target.luma, Int(target.lumaStride), source.luma, Int(source.lumaStride), area.width, area.height,
      Int(max(1, min(31, radius))), 180, &self.numbers)
    let (columns, rows) = (Int32((area.width + 1) / 2), Int32((area.height + 1) / 2))
    CopyPlane(source.cb, source.chromaStride, target.cb, target.chromaStride, columns, rows)
    CopyPlane(source.cr, source.chromaStride, target.cr, target.chromaStride, columns, rows)
  }

  private mutating func makeRoom(_ width: Int, _ height: Int) {
    let count = vidicon_smooth_scratch(width, height)
    if self.numbers.count < count { self.numbers = [Int32](repeating: 0, count: count) }
  }

  private static func length(_ vector: SIMD2<Float>) -> Float { (vector * vector).sum().squareRoot() }
}
