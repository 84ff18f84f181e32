public import Media

/// A picture that is being drawn: memory to fill, and what is to be known of it.
///
/// It is lent to whoever draws and cannot be kept, so that nothing is written once the picture is on its way. The memory
/// is one of a few that go round; its content is undefined until it is drawn.
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
  /// The number of the picture since the start, from 0 on; numbers are left out where pictures were missed.
  public let index: Int64

  /// A picture in memory that nobody else refers to.
  init(_ buffer: PixelBuffer, index: Int64) {
    self.buffer = buffer
    self.index = index
  }

  /// The layout of the pixels.
  public var format: VideoFormat { self.buffer.format }
  /// Pixels across.
  public var width: Int { self.format.width }
  /// Pixels down.
  public var height: Int { self.format.height }
  /// Bytes from one row of the first plane to the next.
  public var bytesPerRow: Int { self.format.bytesPerRow[0] }

  /// Writes a row.
  ///
  /// - Parameters:
  ///   - y: 0 for the one at the top; planes of colour differences may have half as many as the picture.
  ///   - plane: 0 up to ``PixelFormat/planeCount`` - 1.
  ///   - body: Gets the bytes of the row's pixels, without those that fill the row up.
  public func withRow<Result>(
    _ y: Int, plane: Int = 0, _ body: (inout MutableSpan<UInt8>) throws -> Result
  ) rethrows -> Result {
    let format = self.format
    precondition(
      (0..<format.pixelFormat.rowCount(plane: plane, height: format.height)).contains(y), "a row of the picture")
    let start = y * format.bytesPerRow[plane]
    let end = start + format.pixelFormat.minimumBytesPerRow(plane: plane, width: format.width)
    return try self.withBytes(of: plane, in: start..<end, body)
  }

  /// Writes a whole plane.
  ///
  /// - Parameters:
  ///   - plane: 0 up to ``PixelFormat/planeCount`` - 1.
  ///   - body: Gets the bytes, ``VideoFormat/bytesPerRow`` from row to row.
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
