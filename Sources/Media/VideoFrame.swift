/// One uncompressed frame between a capturer and the encoder: pixels by reference, with capture time and orientation.
///
/// Copying a frame copies no pixels.
///
/// Capturers make it on their threads, effects change its pixels on the pipeline's:
///
/// ```swift
/// consumer.consume(VideoFrame(buffer: buffer, timestamp: StreamClock.system.now()))
/// ```
public struct VideoFrame: Sendable {
  /// Pixels in the planes of ``format``; shared by all copies of the frame.
  public let buffer: PixelBuffer
  /// Capture time, on the streams' clock.
  public var timestamp: MediaTime
  /// Rotation that makes the frame upright.
  public var orientation: Orientation
  /// Whether to flip horizontally after the rotation, as for front cameras.
  public var isMirrored: Bool
  /// Latency of the device before ``timestamp``; zero where the capturer does not know it.
  public var captureLatency: MediaDuration

  /// Creates a frame; the pixels in `buffer` are final.
  public init(
    buffer: PixelBuffer,
    timestamp: MediaTime,
    orientation: Orientation = .up,
    isMirrored: Bool = false,
    captureLatency: MediaDuration = .zero
  ) {
    self.buffer = buffer
    self.timestamp = timestamp
    self.orientation = orientation
    self.isMirrored = isMirrored
    self.captureLatency = captureLatency
  }

  /// Size and layout of the pixels.
  public var format: VideoFormat {
    self.buffer.format
  }

  /// Calls a closure with the bytes of a plane.
  ///
  /// - Parameters:
  ///   - index: 0 to ``PixelFormat/planeCount`` - 1.
  ///   - body: Reads the bytes, ``VideoFormat/bytesPerRow`` from row to row; the pointer is valid only during the call.
  public func withPlane<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try withExtendedLifetime(self.buffer) { try body(UnsafeRawBufferPointer(self.buffer.unsafePlane(index))) }
  }
}

/// Clockwise rotation in degrees that makes a frame upright.
public enum Orientation: Int, Hashable, Sendable, CaseIterable {
  /// No rotation.
  case up = 0
  /// Rotation by 90° clockwise.
  case right = 90
  /// Rotation by 180°.
  case down = 180
  /// Rotation by 270° clockwise.
  case left = 270

  /// Whether the rotation swaps width and height.
  public var swapsWidthAndHeight: Bool {
    self == .left || self == .right
  }
}
