internal import CV4L2
internal import Media

/// Where the rows of a picture lie in the memories of a buffer.
struct CameraLayout: Hashable {
  /// One plane of the picture.
  struct Plane: Hashable {
    /// Which of the buffer's memories it lies in, and where.
    var memory: Int
    var offset: Int
    var bytesPerRow: Int
    /// Of these, the ones that hold pixels.
    var rowBytes: Int
    var rowCount: Int

    /// The byte after its last pixel.
    var end: Int { self.offset + self.bytesPerRow * (self.rowCount - 1) + self.rowBytes }
    /// The byte after its last row.
    var fullEnd: Int { self.offset + self.bytesPerRow * self.rowCount }
  }

  /// As they stand in memory; empty for compressed pictures.
  let planes: [Plane]

  /// The layout of a picture.
  ///
  /// - Parameters:
  ///   - bytesPerLine: What the driver says of each memory; values too small for the width are not believed.
  init(_ pixels: CameraPixels, width: Int, height: Int, bytesPerLine: [Int]) {
    var planes: [Plane] = []
    var offset = 0
    for (index, plane) in pixels.planes.enumerated() {
      let least = plane.minimumBytesPerRow(width: width)
      let first = pixels.planes[0]
      let told =
        if pixels.hasOwnMemories || index == 0 {
          index < bytesPerLine.count ? bytesPerLine[index] : 0
        } else {
          planes[0].bytesPerRow * plane.bytes * first.across / (plane.across * first.bytes)
        }
      let rowCount = plane.rowCount(height: height)
      planes.append(
        Plane(
          memory: pixels.hasOwnMemories ? index : 0, offset: pixels.hasOwnMemories ? 0 : offset,
          bytesPerRow: max(told, least), rowBytes: least, rowCount: rowCount))
      offset = planes[index].fullEnd
    }
    self.planes = planes
  }

  /// Whether memories of these lengths hold every pixel.
  func fits(in lengths: [Int]) -> Bool {
    self.planes.allSatisfy { $0.memory < lengths.count && $0.end <= lengths[$0.memory] }
  }

  /// Whether memories of these lengths hold every row with what follows its pixels, so that they can be handed on.
  func fitsWhole(in lengths: [Int]) -> Bool {
    self.planes.allSatisfy { $0.memory < lengths.count && $0.fullEnd <= lengths[$0.memory] }
  }
}
