/// The shape of a source's pictures: size, pixel layout and frame rate.
public struct VideoFormat: Hashable, Sendable {
  /// Pixels across, at least 1.
  public let width: Int
  /// Pixels down, at least 1.
  public let height: Int
  /// How the pixels lie in memory.
  public let pixelFormat: PixelFormat
  /// Bytes from one row to the next, for each plane; at least ``PixelFormat/minimumBytesPerRow(plane:width:)``.
  public let bytesPerRow: [Int]
  /// Pictures a second that the source intends to deliver.
  public var frameRate: FrameRate
  /// For Y'CbCr formats, the matrix behind them; of no meaning for RGB ones.
  public var colorMatrix: ColorMatrix

  /// A format; without `bytesPerRow` the rows lie without gaps.
  ///
  /// A size below 1 or a row too short for its width is a programmer's error and traps: check what a device or file
  /// says before it becomes a format.
  public init(
    width: Int,
    height: Int,
    pixelFormat: PixelFormat = .i420,
    bytesPerRow: [Int]? = nil,
    frameRate: FrameRate = FrameRate(30),
    colorMatrix: ColorMatrix = .bt601
  ) {
    precondition(width > 0 && height > 0, "a picture has at least one pixel")
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

  /// The bytes of one plane, gaps at the ends of rows included.
  public func byteCount(plane: Int) -> Int {
    self.bytesPerRow[plane] * self.pixelFormat.rowCount(plane: plane, height: self.height)
  }

  /// Whether pictures of the two formats look the same in memory; the frame rate does not matter.
  public func hasSameLayout(as other: VideoFormat) -> Bool {
    self.width == other.width && self.height == other.height && self.pixelFormat == other.pixelFormat
      && self.bytesPerRow == other.bytesPerRow
  }
}
