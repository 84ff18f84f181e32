internal import CV4L2
internal import Media

/// Position of a frame's planes in the memories of a buffer.
struct CameraLayout: Hashable {
  /// One plane of a frame.
  struct Plane: Hashable {
    /// Index of the buffer's memory that holds the plane.
    var memory: Int
    /// Offset of the first row in that memory, in bytes.
    var offset: Int
    /// Distance between rows, in bytes.
    var bytesPerRow: Int
    /// Number of bytes of a row that hold pixels.
    var rowBytes: Int
    var rowCount: Int

    /// Offset behind the last pixel.
    var end: Int { self.offset + self.bytesPerRow * (self.rowCount - 1) + self.rowBytes }
    /// Offset behind the last row, padding included.
    var fullEnd: Int { self.offset + self.bytesPerRow * self.rowCount }
  }

  /// Planes in memory order; empty for compressed formats.
  let planes: [Plane]

  /// - Parameter bytesPerLine: The driver's value for each memory; values too small for the width are replaced by the
  ///   minimum.
  init(_ pixels: CameraPixels, width: Int, height: Int, bytesPerLine: [Int]) {
    var planes: [Plane] = []
    var offset = 0
    for (index, plane) in pixels.planes.enumerated() {
      let minimum = plane.minimumBytesPerRow(width: width)
      let first = pixels.planes[0]
      let reported =
        if pixels.hasOwnMemories || index == 0 {
          index < bytesPerLine.count ? bytesPerLine[index] : 0
        } else {
          planes[0].bytesPerRow * plane.bytes * first.across / (plane.across * first.bytes)
        }
      let rowCount = plane.rowCount(height: height)
      planes.append(
        Plane(
          memory: pixels.hasOwnMemories ? index : 0, offset: pixels.hasOwnMemories ? 0 : offset,
          bytesPerRow: max(reported, minimum), rowBytes: minimum, rowCount: rowCount))
      offset = planes[index].fullEnd
    }
    self.planes = planes
  }

  /// Whether memories of these lengths hold every pixel.
  func fits(in lengths: [Int]) -> Bool {
    self.planes.allSatisfy { $0.memory < lengths.count && $0.end <= lengths[$0.memory] }
  }

  /// Whether memories of these lengths hold every row with its padding, so that frames can reference them.
  func fitsWhole(in lengths: [Int]) -> Bool {
    self.planes.allSatisfy { $0.memory < lengths.count && $0.fullEnd <= lengths[$0.memory] }
  }
}
