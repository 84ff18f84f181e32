public import Media

/// Where pictures come from: a camera, a screen, a file, or code that draws.
///
/// A capturer has a thread (or queue) of its own on which it calls ``VideoConsumer/consume(_:)``. It is started and
/// stopped by the stream it is attached to, any number of times, always in turn, never from two threads at once.
public protocol VideoCapturer: AnyObject, Sendable {
  /// The settings: what the frames look like. Once ``start(consumer:)`` has returned it changes only with a
  /// ``VideoConsumer/captureFormatChanged(to:)``.
  var format: VideoFormat { get }

  /// Whether it is between a ``start(consumer:)`` that succeeded and ``stop()``.
  var isStarted: Bool { get }

  /// Begins to deliver frames, and returns without waiting for the first one.
  ///
  /// - Throws: A ``VidiconError`` when the source cannot be opened; the capturer is then still stopped.
  func start(consumer: any VideoConsumer) throws(VidiconError)

  /// Ends delivery. When it returns no further frame comes; without effect when not started.
  func stop()

  /// Told of each frame that was handed over and not used, on any thread; must return at once.
  func didDrop(_ drop: FrameDrop)

  /// Which way it looks. Pictures of a `.front` one are mirrored in previews, and nowhere else.
  var position: CameraPosition { get }

  /// How the compressed pictures of a source that compresses itself are to be turned, known once it has started; frames
  /// tell it themselves.
  var sampleOrientation: Orientation { get }

  /// Asked for a keyframe soon, while the compressed pictures of a source that compresses itself are passed through: a
  /// viewer waits for one. At most twice a second, on any thread; must return at once.
  func requestKeyframe()
}

extension VideoCapturer {
  /// `.unspecified`, as for all but cameras that know.
  public var position: CameraPosition { .unspecified }

  /// `.up`, as of nearly all sources.
  public var sampleOrientation: Orientation { .up }

  /// Does nothing: what was compressed elsewhere has keyframes where it has them.
  public func requestKeyframe() {}

  /// Does nothing: most sources only need to draw the next frame.
  public func didDrop(_ drop: FrameDrop) {}
}

/// Whom a capturer hands its frames to.
public protocol VideoConsumer: AnyObject, Sendable {
  /// Takes over one frame; returns at once, never waits for the encoder.
  func consume(_ frame: VideoFrame)

  /// Takes over one compressed picture of a source that compresses itself: a camera with an encoder, a network source.
  /// Who takes it decides whether it is passed through or decoded; returns at once.
  ///
  /// - Parameters:
  ///   - sample: H.264 as everywhere in here, parameter sets apart; in order of decoding, the first one a keyframe, its
  ///     times on the streams' clock.
  ///   - description: What a decoder must know of it; another one than before at a keyframe only.
  func consume(_ sample: EncodedSample, of description: CodecDescription)

  /// Told of a frame that the capturer had to leave out, since those it has handed over still hold all of its memory;
  /// returns at once.
  ///
  /// - Parameter timestamp: When it would have been captured.
  func captureSkipped(at timestamp: MediaTime)

  /// Told, between two frames, that those that follow have another shape: a window was resized, a camera renegotiated, a
  /// file goes on with another picture. Frames of another shape that were not announced are dropped.
  ///
  /// Called on the thread that hands over the frames; ``VideoCapturer/format`` has changed too.
  func captureFormatChanged(to format: VideoFormat)

  /// Told that no more frames will come until the capturer is started again: nil at the end of the input, an error when
  /// the source failed.
  func captureEnded(_ error: VidiconError?)
}

extension VideoConsumer {
  /// Does nothing: who takes pictures of sources that compress themselves implements it.
  public func consume(_ sample: EncodedSample, of description: CodecDescription) {}

  /// Does nothing: what is missing shows in the timestamps.
  public func captureSkipped(at timestamp: MediaTime) {}

  /// Does nothing.
  public func captureFormatChanged(to format: VideoFormat) {}
}

/// A frame that was handed over by a capturer and not used, or that it had no memory for.
public struct FrameDrop: Hashable, Sendable {
  /// Why frames are dropped.
  public enum Reason: String, Hashable, Sendable, CaseIterable {
    /// The next frame came before the pipeline had taken this one.
    case late
    /// The capturer had no memory for it: frames that it handed over before still hold all.
    case noMemory
    /// It does not have the format that the capturer announced.
    case wrongFormat
    /// It came after the capturer or the stream was told to stop.
    case stopped
  }

  /// The frame's ``VideoFrame/timestamp``.
  public var timestamp: MediaTime
  /// Why it was dropped.
  public var reason: Reason

  /// A dropped frame.
  public init(timestamp: MediaTime, reason: Reason) {
    self.timestamp = timestamp
    self.reason = reason
  }
}
