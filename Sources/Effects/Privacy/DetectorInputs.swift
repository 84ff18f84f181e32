internal import CYUV
internal import Media

/// Memory of the small frames that detectors get: scaled and rotated squares of a frame. Memory is reused from batch to batch.
struct DetectorInputs {
  private var inputs: [Int: [PixelBuffer]] = [:]
  private var used: [Int: Int] = [:]
  private var turning: [Int: PixelBuffer] = [:]

  /// Makes all memory available again; threads must not read it any more.
  mutating func reuse() { self.used = [:] }

  /// Gives the memory up to threads that may still read it.
  mutating func abandon() { (self.inputs, self.used) = ([:], [:]) }

  /// Scales and rotates a square, of which parts may lie outside of the frame, to a model's input size.
  ///
  /// - Parameters:
  ///   - tile: In pixels of the frame. The part outside of it mirrors the frame: a half face at the edge becomes a whole one,
  ///     which the detectors find.
  ///   - orientation: Rotation that is applied.
  ///   - side: Input size of the model.
  mutating func make(_ frame: PixelBuffer, _ tile: FaceTile, _ orientation: Orientation, side: Int) -> PixelBuffer {
    let input = self.next(side)
    guard orientation != .up else {
      Self.scale(frame, tile, into: input)
      return input
    }
    let upright = self.turning[side] ?? PixelBuffer(format: VideoFormat(width: side, height: side))
    self.turning[side] = upright
    Self.scale(frame, tile, into: upright)
    let mode =
      switch orientation {
      case .up: kRotate0
      case .right: kRotate90
      case .down: kRotate180
      case .left: kRotate270
      }
    let (from, to) = (Canvas(upright).pointers(), Canvas(input).pointers())
    _ = I420Rotate(
      from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride, to.luma, to.lumaStride,
      to.cb, to.chromaStride, to.cr, to.chromaStride, Int32(side), Int32(side), mode)
    withExtendedLifetime((upright, input)) {}
    return input
  }

  private mutating func next(_ side: Int) -> PixelBuffer {
    let index = self.used[side, default: 0]
    self.used[side] = index + 1
    while self.inputs[side, default: []].count <= index {
      self.inputs[side, default: []].append(PixelBuffer(format: VideoFormat(width: side, height: side)))
    }
    return self.inputs[side, default: []][index]
  }

  private static func scale(_ frame: PixelBuffer, _ tile: FaceTile, into target: PixelBuffer) {
    let side = target.format.width
    let (width, height) = (frame.format.width, frame.format.height)
    // The part of the tile that lies in the frame, and where that is in the target.
    let left = max(0, tile.x), top = max(0, tile.y)
    let right = min(width, tile.x + tile.side), bottom = min(height, tile.y + tile.side)
    guard left < right, top < bottom else { return target.cover() }
    func scaled(_ length: Int) -> Int { length * side / tile.side & ~1 }
    let x = min(scaled(left - tile.x), side - 2), y = min(scaled(top - tile.y), side - 2)
    let columns = min(max(2, scaled(right - left)), side - x), rows = min(max(2, scaled(bottom - top)), side - y)
    let (from, to) = (Canvas(frame).pointers(x: left, y: top), Canvas(target).pointers(x: x, y: y))
    _ = I420Scale(
      from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride, Int32(right - left),
      Int32(bottom - top), to.luma, to.lumaStride, to.cb, to.chromaStride, to.cr, to.chromaStride,
      Int32(columns), Int32(rows), kFilterBox)
    withExtendedLifetime((frame, target)) {}
    guard columns < side || rows < side else { return }
    for plane in 0..<3 {
      let unit = plane == 0 ? 1 : 2
      Self.mirror(
        target.unsafePlane(plane), stride: target.format.bytesPerRow[plane], side: side / unit,
        columns: x / unit..<(x + columns) / unit, rows: y / unit..<(y + rows) / unit)
    }
  }

  /// Fills a square plane around a rectangle with what the rectangle shows, mirrored at its sides.
  private static func mirror(
    _ plane: UnsafeMutableRawBufferPointer, stride: Int, side: Int, columns: Range<Int>, rows: Range<Int>
  ) {
    func mirrored(_ index: Int, _ range: Range<Int>) -> Int {
      let other = index < range.lowerBound ? 2 * range.lowerBound - 1 - index : 2 * range.upperBound - 1 - index
      return range.contains(index) ? index : max(range.lowerBound, min(range.upperBound - 1, other))
    }
    guard let bytes = plane.baseAddress, !columns.isEmpty, !rows.isEmpty else { return }
    for y in rows {
      let row = bytes + y * stride
      for x in 0..<columns.lowerBound { (row + x).copyMemory(from: row + mirrored(x, columns), byteCount: 1) }
      for x in columns.upperBound..<side { (row + x).copyMemory(from: row + mirrored(x, columns), byteCount: 1) }
    }
    for y in 0..<side where !rows.contains(y) {
      (bytes + y * stride).copyMemory(from: bytes + mirrored(y, rows) * stride, byteCount: side)
    }
  }
}
