public import Media

/// A frame that is being drawn: writable pixel memory and its layout.
///
/// It is borrowed by the drawing closure and cannot escape, so that nothing is written once the frame is delivered. The
/// memory comes from a pool; its content is undefined until it is drawn.
///
/// ```swift
/// for y in 0..<frame.height {
///   frame.withRow(y) { row in
///     for x in 0..<frame.width { row[x * 4] = UInt8(truncatingIfNeeded: x ^ y) }
///   }
/// }
/// ```
public struct DrawnFrame: ~Copyable {
  private let buffer: PixelBuffer
  /// Number of the frame since the start, from 0; skipped frames leave gaps.
  public let index: Int64

  /// - Parameter buffer: Memory without other references.
  init(_ buffer: PixelBuffer, index: Int64) {
    self.buffer = buffer
    self.index = index
  }

  /// Size, pixel layout and nominal frame rate of the frame.
  public var format: VideoFormat { self.buffer.format }
  /// Width in pixels, at least 1.
  public var width: Int { self.format.width }
  /// Height in pixels, at least 1.
  public var height: Int { self.format.height }
  /// Distance between rows of the first plane, in bytes.
  public var bytesPerRow: Int { self.format.bytesPerRow[0] }

  /// Calls a closure with the pixels of one row.
  ///
  /// - Parameters:
  ///   - y: Row, 0 at the top; subsampled chroma planes have half as many rows as the frame.
  ///   - plane: 0 to ``PixelFormat/planeCount`` - 1.
  ///   - body: Receives the row's bytes without the padding at its end.
  public func withRow<Result>(
    _ y: Int, plane: Int = 0, _ body: (inout MutableSpan<UInt8>) throws -> Result
  ) rethrows -> Result {
    let format = self.format
    precondition(
      (0..<format.pixelFormat.rowCount(plane: plane, height: format.height)).contains(y), "a row of the frame")
    let start = y * format.bytesPerRow[plane]
    let end = start + format.pixelFormat.minimumBytesPerRow(plane: plane, width: format.width)
    return try self.withBytes(of: plane, in: start..<end, body)
  }

  /// Calls a closure with the memory of one plane.
  ///
  /// - Parameters:
  ///   - plane: 0 to ``PixelFormat/planeCount`` - 1.
  ///   - body: Receives all rows, ``VideoFormat/bytesPerRow`` apart.
  public func withPlane<Result>(
    _ plane: Int = 0, _ body: (inout MutableSpan<UInt8>) throws -> Result
  ) rethrows -> Result {
    try self.withBytes(of: plane, in: 0..<self.format.byteCount(plane: plane), body)
  }

  private func withBytes<Result>(
    of plane: Int, in range: Range<Int>, _ body: (inout MutableSpan<UInt8>) throws -> Result
  ) rethrows -> Result {
    precondition((0..<self.format.pixelFormat.planeCount).contains(plane), "a plane of the format")
    let bytes = UnsafeMutableRawBufferPointer(rebasing: self.buffer.unsafePlane(plane)[range])
      .bindMemory(to: UInt8.self)
    // The buffer is kept alive by `self`, which the caller holds.
    var span = bytes.mutableSpan
    return try body(&span)
  }
}
