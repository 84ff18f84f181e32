/// Size, pixel layout and frame rate of uncompressed video.
public struct VideoFormat: Hashable, Sendable {
  /// Width in pixels, at least 1.
  public let width: Int
  /// Height in pixels, at least 1.
  public let height: Int
  /// Memory layout of the pixels: planes, order of components and chroma subsampling.
  public let pixelFormat: PixelFormat
  /// Bytes from one row to the next, per plane; at least ``PixelFormat/minimumBytesPerRow(plane:width:)``.
  public let bytesPerRow: [Int]
  /// Nominal frame rate of the source.
  public var frameRate: FrameRate
  /// Conversion matrix of Y'CbCr formats; ignored for RGB formats.
  public var colorMatrix: ColorMatrix

  /// Creates a format.
  ///
  /// Traps for a size below 1 and for rows shorter than the width: values from a device or file have to be checked first.
  ///
  /// - Parameter bytesPerRow: Rows without padding by default.
  public init(
    width: Int,
    height: Int,
    pixelFormat: PixelFormat = .i420,
    bytesPerRow: [Int]? = nil,
    frameRate: FrameRate = FrameRate(30),
    colorMatrix: ColorMatrix = .bt601
  ) {
    precondition(width > 0 && height > 0, "a frame has at least one pixel")
    let tight = (0..<pixelFormat.planeCount).map { pixelFormat.minimumBytesPerRow(plane: $0, width: width) }
    self.width = width
    self.height = height
    self.pixelFormat = pixelFormat
    self.bytesPerRow = bytesPerRow ?? tight
    self.frameRate = frameRate
    self.colorMatrix = colorMatrix
    precondition(
      self.bytesPerRow.count == tight.count && zip(self.bytesPerRow, tight).allSatisfy { $0 >= $1 },
      "each plane has a row length that holds its width")
  }

  /// Number of bytes of one plane, padding at the ends of rows included.
  public func byteCount(plane: Int) -> Int {
    self.bytesPerRow[plane] * self.pixelFormat.rowCount(plane: plane, height: self.height)
  }

  /// Whether frames of both formats have the same size and memory layout; frame rate and color matrix are ignored.
  public func hasSameLayout(as other: VideoFormat) -> Bool {
    self.width == other.width && self.height == other.height && self.pixelFormat == other.pixelFormat
      && self.bytesPerRow == other.bytesPerRow
  }
}

extension VideoFormat {
  /// The largest even size with this format's aspect ratio in another format, in pixels; the rest of the other one is bars.
  /// Differences of up to two pixels are no reason for bars.
  package func fittedSize(in target: VideoFormat) -> (width: Int, height: Int) {
    let width = min(target.width, (target.height * self.width + self.height / 2) / self.height & ~1)
    let height = min(target.height, (target.width * self.height + self.width / 2) / self.width & ~1)
    return (
      target.width - width <= 2 ? target.width : max(2, width),
      target.height - height <= 2 ? target.height : max(2, height)
    )
  }
}
