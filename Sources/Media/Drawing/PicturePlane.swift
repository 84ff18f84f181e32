/// A view of one plane of a picture that is being drawn, one byte a sample.
package struct PicturePlane {
  /// The first sample of the first row.
  package let base: UnsafeMutablePointer<UInt8>
  /// Samples across.
  package let width: Int
  /// Rows.
  package let height: Int
  /// Bytes from one row to the next.
  package let bytesPerRow: Int

  /// A view of memory that holds `height` rows; to be used only while that is valid.
  package init(_ bytes: UnsafeMutableRawBufferPointer, width: Int, height: Int, bytesPerRow: Int) {
    precondition(
      width > 0 && height > 0 && bytesPerRow >= width && bytes.count >= (height - 1) * bytesPerRow + width,
      "a plane has memory for its rows")
    self.base = bytes.baseAddress!.assumingMemoryBound(to: UInt8.self)
    self.width = width
    self.height = height
    self.bytesPerRow = bytesPerRow
  }

  /// Sets the samples of a rectangle; what lies outside of the plane is left out.
  package func fill(x: Int, y: Int, width: Int, height: Int, value: UInt8) {
    let left = max(x, 0)
    let right = min(x + width, self.width)
    guard left < right else { return }
    for row in max(y, 0)..<max(min(y + height, self.height), max(y, 0)) {
      (self.base + (row * self.bytesPerRow + left)).update(repeating: value, count: right - left)
    }
  }
}
