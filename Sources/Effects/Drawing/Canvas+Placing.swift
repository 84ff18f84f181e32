internal import CYUV

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
