/// One picture on its way from a capturer to the encoder: pixels by reference, and what belongs to them.
///
/// Copying a frame copies no pixels.
public struct VideoFrame: Sendable {
  /// The pixels, in planes.
  public let buffer: PixelBuffer
  /// When the picture was captured, on the streams' clock.
  public var timestamp: MediaTime
  /// How the picture must be turned to stand upright.
  public var orientation: Orientation
  /// Whether left and right are to be exchanged, after turning: set for front cameras.
  public var isMirrored: Bool
  /// The time that passed in the device before ``timestamp`` was taken, where the capturer knows it.
  public var captureDelay: MediaDuration

  /// A frame around pixels that are complete.
  public init(
    buffer: PixelBuffer,
    timestamp: MediaTime,
    orientation: Orientation = .up,
    isMirrored: Bool = false,
    captureDelay: MediaDuration = .zero
  ) {
    self.buffer = buffer
    self.timestamp = timestamp
    self.orientation = orientation
    self.isMirrored = isMirrored
    self.captureDelay = captureDelay
  }

  /// The layout of the pixels.
  public var format: VideoFormat {
    self.buffer.format
  }

  /// Reads the bytes of a plane.
  ///
  /// - Parameters:
  ///   - index: 0 up to ``PixelFormat/planeCount`` - 1.
  ///   - body: Gets the plane's bytes, ``VideoFormat/bytesPerRow`` from row to row; they are not to be kept.
  public func withPlane<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try withExtendedLifetime(self.buffer) { try body(UnsafeRawBufferPointer(self.buffer.unsafePlane(index))) }
  }
}

/// How a picture must be turned to stand upright: the clockwise rotation that a viewer applies.
public enum Orientation: Int, Hashable, Sendable, CaseIterable {
  /// Upright as it is.
  case up = 0
  /// To be turned a quarter clockwise.
  case right = 90
  /// To be turned upside down.
  case down = 180
  /// To be turned a quarter anticlockwise.
  case left = 270

  /// Whether width and height change places when the picture is turned upright.
  public var swapsWidthAndHeight: Bool {
    self == .left || self == .right
  }
}
