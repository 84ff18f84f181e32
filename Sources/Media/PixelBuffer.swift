// Safe because the pointers are written only between creation (or reuse, when the pool holds the only reference) and
// the hand-over of the frame; from then on every thread only reads.
/// The memory of one picture, shared by reference and never written after it was handed over.
///
/// It is either owned (made by a ``VideoFramePool``, freed with the last reference) or borrowed from somewhere else,
/// such as a decoder's picture, which is given back when the last reference goes.
public final class PixelBuffer: @unchecked Sendable {
  /// The layout of the pixels.
  public let format: VideoFormat
  private let planes: (UnsafeMutableRawPointer, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?)
  private let release: @Sendable () -> Void

  /// Rows and planes start at multiples of this many bytes: what AVX-512 loads like.
  static let alignment = 64

  /// A picture of undefined content, in memory of its own.
  public init(format: VideoFormat) {
    let sizes = (0..<format.pixelFormat.planeCount).map {
      (format.byteCount(plane: $0) + Self.alignment - 1) / Self.alignment * Self.alignment
    }
    // The SIMD kernels of libyuv may read (never write) a little past a row's end.
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

  /// A picture in memory that belongs to somebody else.
  ///
  /// - Parameters:
  ///   - format: The layout; its row lengths must be those of the memory.
  ///   - planes: The first byte of each plane, ``PixelFormat/planeCount`` of them, valid until `release` is called.
  ///   - release: Called once, on any thread, when nobody uses the memory any more.
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

  /// The bytes of a plane; valid while this object is referenced.
  ///
  /// Only the maker of a frame may write, and only before it hands the frame over.
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
