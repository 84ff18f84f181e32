public import Media

/// A frame that a ``VideoEffect`` processes, with its metadata.
public struct EffectFrame: Sendable {
  /// The pixels: I420, upright, writable. Assign another buffer of the same size to replace them.
  public var buffer: PixelBuffer
  /// Capture time, on the streams' clock.
  public let timestamp: MediaTime
  /// Metadata that accompanies the frame to the outputs.
  public var metadata: FrameMetadata
  /// Orientation that the source reported; already applied to ``buffer``.
  public let sourceOrientation: Orientation
  /// Latency of the device before ``timestamp``.
  package var captureLatency = MediaDuration.zero
  /// Factor by which the source's frame was enlarged, at least 1: its pixels are as many pixels wide here.
  package var enlargement: Float = 1
  /// Time left for this effect: the chain's budget less the time of the effects before it, at least zero.
  public internal(set) var budget: MediaDuration

  /// Creates a frame for a chain.
  ///
  /// - Parameters:
  ///   - buffer: I420, not shared.
  ///   - budget: Time for all effects together.
  public init(
    buffer: PixelBuffer, timestamp: MediaTime, budget: MediaDuration, metadata: FrameMetadata = FrameMetadata(),
    sourceOrientation: Orientation = .up
  ) {
    precondition(buffer.format.pixelFormat == .i420, "effects process I420 frames")
    self.buffer = buffer
    self.timestamp = timestamp
    self.budget = budget
    self.metadata = metadata
    self.sourceOrientation = sourceOrientation
  }

  /// Calls `body` with the bytes of a plane.
  ///
  /// - Parameters:
  ///   - index: 0 is luma, 1 is Cb, 2 is Cr; the latter have half the width and height, rounded up.
  ///   - body: Receives the plane's bytes, with ``VideoFormat/bytesPerRow`` per row; valid during the call only.
  public mutating func withPlane<Result>(
    _ index: Int, _ body: (UnsafeMutableBufferPointer<UInt8>) throws -> Result
  ) rethrows -> Result {
    try withExtendedLifetime(self.buffer) {
      try body(self.buffer.unsafePlane(index).bindMemory(to: UInt8.self))
    }
  }

  /// The frame as a read-only ``VideoFrame``.
  var viewed: VideoFrame { VideoFrame(buffer: self.buffer, timestamp: self.timestamp) }
}

/// Results of effects that accompany a frame to the outputs.
public struct FrameMetadata: Hashable, Sendable {
  /// Faces in the frame, in pixels.
  public var faces: [Face] = []
  /// Uncertain faces: detected for the first time, briefly not detected, or hidden by another face. For effects that
  /// must not miss a face.
  public var possibleFaces: [Face] = []
  /// Changes of faces since the previous frame.
  public var faceEvents: [FaceEvent] = []
  /// Reliability of ``faces``; nil without a face tracker.
  public var faceTracking: FaceTrackingState?

  /// Creates metadata without faces, events and tracking state.
  public init() {}
}
