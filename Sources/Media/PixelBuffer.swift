// Safe because the pointers are written only between creation (or reuse, when the pool holds the only reference) and
// the delivery of the frame; from then on every thread only reads.
/// Memory of one uncompressed frame, shared by reference and read-only once the frame is delivered.
///
/// The memory is either owned and freed with the last reference, or borrowed, such as from a decoder, and released when
/// the last reference goes.
public final class PixelBuffer: @unchecked Sendable {
  /// Size and layout of the pixels.
  public let format: VideoFormat
  private let planes: (UnsafeMutableRawPointer, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?)
  private let release: @Sendable () -> Void

  /// Alignment of each plane in bytes: that of AVX-512 loads.
  static let alignment = 64

  /// Allocates memory for a frame; its content is undefined.
  public init(format: VideoFormat) {
    let sizes = (0..<format.pixelFormat.planeCount).map {
      (format.byteCount(plane: $0) + Self.alignment - 1) / Self.alignment * Self.alignment
    }
    // SIMD kernels of libyuv may read, but not write, past the end of a row.
    let base = UnsafeMutableRawPointer.allocate(
      byteCount: sizes.reduce(0, +) + Self.alignment, alignment: Self.alignment)
    self.format = format
    self.planes = (
      base,
      sizes.count > 1 ? base + sizes[0] : nil,
      sizes.count > 2 ? base + sizes[0] + sizes[1] : nil
    )
    nonisolated(unsafe) let owned = base  // Safe because the closure runs once, after the last use.
    self.release = { owned.deallocate() }
  }

  /// Wraps memory that is owned elsewhere.
  ///
  /// - Parameters:
  ///   - format: Layout of the memory, row lengths included.
  ///   - planes: First byte of each plane, ``PixelFormat/planeCount`` pointers, valid until `release` is called.
  ///   - release: Called once, on any thread, when the last reference goes.
  public init(
    borrowing planes: [UnsafeMutableRawPointer],
    format: VideoFormat,
    release: @escaping @Sendable () -> Void
  ) {
    precondition(planes.count == format.pixelFormat.planeCount, "one pointer for each plane")
    self.format = format
    self.planes = (planes[0], planes.count > 1 ? planes[1] : nil, planes.count > 2 ? planes[2] : nil)
    self.release = release
  }

  deinit {
    self.release()
  }

  /// Bytes of a plane, valid while this object is referenced; empty for an index that the format does not have.
  ///
  /// Writing is allowed only to the producer of the frame, and only before delivering the frame.
  public func unsafePlane(_ index: Int) -> UnsafeMutableRawBufferPointer {
    let start =
      switch index {
      case 0: self.planes.0
      case 1: self.planes.1
      default: self.planes.2
      }
    return UnsafeMutableRawBufferPointer(start: start, count: start == nil ? 0 : self.format.byteCount(plane: index))
  }
}
