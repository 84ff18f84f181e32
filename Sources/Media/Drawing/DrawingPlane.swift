/// Mutable view of one plane of a frame with one byte per sample, for drawing.
package struct DrawingPlane {
  /// First sample of the first row.
  package let base: UnsafeMutablePointer<UInt8>
  /// Number of samples per row.
  package let width: Int
  /// Number of rows.
  package let height: Int
  /// Bytes from one row to the next.
  package let bytesPerRow: Int

  /// Creates a view, valid as long as the memory; traps unless `bytes` holds `height` rows.
  package init(_ bytes: UnsafeMutableRawBufferPointer, width: Int, height: Int, bytesPerRow: Int) {
    precondition(
      width > 0 && height > 0 && bytesPerRow >= width && bytes.count >= (height - 1) * bytesPerRow + width,
      "a plane has memory for its rows")
    self.base = bytes.baseAddress!.assumingMemoryBound(to: UInt8.self)
    self.width = width
    self.height = height
    self.bytesPerRow = bytesPerRow
  }

  /// Fills a rectangle, clipped to the plane.
  package func fill(x: Int, y: Int, width: Int, height: Int, value: UInt8) {
    let left = max(x, 0)
    let right = min(x + width, self.width)
    guard left < right else { return }
    for row in max(y, 0)..<max(min(y + height, self.height), max(y, 0)) {
      (self.base + (row * self.bytesPerRow + left)).update(repeating: value, count: right - left)
    }
  }
}
