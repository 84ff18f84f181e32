public import Media

/// A source of video: a camera, a screen, a file, a network stream, or code that draws.
///
/// A stream starts and stops its capturer any number of times, from any thread, and never makes two of these calls at the
/// same time. The capturer calls its ``VideoConsumer`` on a thread of its own, one call at a time, and only between
/// ``start(consumer:)`` and the return of ``stop()``. Properties may be read from any thread at any time.
///
/// ```swift
/// final class MyCapturer: VideoCapturer {
///   let format = VideoFormat(width: 640, height: 360, pixelFormat: .nv12)
///   var isStarted: Bool { … }
///   func start(consumer: any VideoConsumer) throws(VidiconError) { … }  // open, then consumer.consume(frame)
///   func stop() { … }                                                   // close, and wait for the thread
/// }
/// ```
///
/// Use ``PushCapturer`` for frames that another library's callback delivers, and ``GeneratorCapturer`` to draw frames at a
/// fixed rate.
public protocol VideoCapturer: AnyObject, Sendable {
  /// Size, pixel format and maximum frame rate of the frames.
  ///
  /// Before the first start it is the requested format. After ``start(consumer:)`` has returned it changes only together
  /// with ``VideoConsumer/captureFormatChanged(to:)``.
  var format: VideoFormat { get }

  /// True from a successful ``start(consumer:)`` until ``stop()``, also while a lost device is searched for.
  var isStarted: Bool { get }

  /// Opens the source and starts delivery; returns without waiting for the first frame. Not called while started.
  ///
  /// May block while a device opens. The consumer is retained until ``stop()`` and may be called before this returns.
  ///
  /// - Throws: A ``VidiconError`` when the source cannot be opened; the capturer is then still stopped, and the consumer is
  ///   not called.
  func start(consumer: any VideoConsumer) throws(VidiconError)

  /// Ends delivery: once it returns, the consumer is not called again. Does nothing when not started.
  ///
  /// The consumer may call it from within a callback; that callback is then the last one.
  func stop()

  /// Reports a delivered frame that the stream did not use.
  ///
  /// Called on any thread; must return without blocking. By default does nothing.
  func didDrop(_ drop: FrameDrop)

  /// Direction a camera faces; previews mirror the frames of a ``CameraPosition/front`` camera, streams and recordings do
  /// not. By default ``CameraPosition/unspecified``.
  var position: CameraPosition { get }

  /// Rotation that upright display of ``EncodedSample``s needs; valid after ``start(consumer:)``. By default `.up`.
  ///
  /// Only for sources that deliver compressed video: an uncompressed ``VideoFrame`` carries its own orientation.
  var sampleOrientation: Orientation { get }

  /// Whether the capturer calls ``VideoConsumer/captureEnded(_:)`` when its source is lost, also where that shows by its silence
  /// alone. By default false.
  ///
  /// A stream then keeps the last frame as long as none comes: a still screen, a camera at night. Of other sources it shows the slate
  /// after `VideoSettings.sourceTimeout`, or four times the interval between their last frames.
  var reportsLoss: Bool { get }

  /// The source as users name it (`v4l2:/dev/video0`, `file:/a.mp4`, the address of a camera), passwords included; nil for a source
  /// that no other capturer shows. By default nil.
  ///
  /// Two streams with capturers of one source are known by it: where one of them covers faces, the other one does.
  var sourceName: String? { get }

  /// Requests a keyframe from a source that delivers compressed video, because a viewer waits for one.
  ///
  /// Called at most twice per second, on any thread; must return without blocking. By default does nothing: the next
  /// keyframe then comes at the source's own interval.
  func requestKeyframe()
}

extension VideoCapturer {
  /// Unspecified: for sources that are not cameras, or whose direction is not known.
  public var position: CameraPosition { .unspecified }

  /// No rotation: for upright compressed video, and for sources that deliver uncompressed frames.
  public var sampleOrientation: Orientation { .up }

  /// False: for sources whose loss shows by their silence.
  public var reportsLoss: Bool { false }

  /// None: for video that is generated or pushed.
  public var sourceName: String? { nil }

  /// Does nothing: for sources of uncompressed video, and those of which no keyframe can be requested.
  public func requestKeyframe() {}

  /// Does nothing; implemented by capturers that count or report their unused frames.
  public func didDrop(_ drop: FrameDrop) {}
}

/// Receives what a ``VideoCapturer`` captures.
///
/// The capturer makes all calls on its own thread, one at a time and in order of time. Every method must return without
/// blocking: it enqueues or drops, and never waits for an encoder or a viewer.
public protocol VideoConsumer: AnyObject, Sendable {
  /// Enqueues an uncompressed frame in the capturer's ``VideoCapturer/format``.
  ///
  /// The frame's pixel memory is shared: it returns to the capturer's pool when the last reference is released. A frame of
  /// another size or pixel format is dropped as ``FrameDrop/Reason/wrongFormat``.
  func consume(_ frame: VideoFrame)

  /// Enqueues compressed video of a source that encodes by itself, such as a camera with an H.264 encoder or a network
  /// source. The consumer decides whether it is passed through or decoded. By default does nothing.
  ///
  /// - Parameters:
  ///   - sample: One access unit with its NAL units length-prefixed, without parameter sets. Samples come in decode
  ///     order, the first one is a keyframe, and times are on the ``StreamClock``.
  ///   - description: The parameter sets; they change only at a keyframe.
  func consume(_ sample: EncodedSample, of description: CodecDescription)

  /// Reports a frame that the capturer could not capture or decode, for example because delivered frames still hold all of
  /// its memory. By default does nothing.
  ///
  /// - Parameter timestamp: Capture time of the missing frame.
  func captureSkipped(at timestamp: MediaTime)

  /// Announces that the following frames have another format: a window was resized, a camera renegotiated, or a file
  /// continues at another size. ``VideoCapturer/format`` already returns it. By default does nothing.
  func captureFormatChanged(to format: VideoFormat)

  /// Reports that the source is connected and sends video at which decoding cannot start yet: no keyframe or recovery point has
  /// come, or no parameter sets. Once for each such time; frames follow without a further call. By default does nothing.
  ///
  /// - Parameter reason: What has not come, and the remedy.
  func captureWaits(_ reason: VidiconError)

  /// Reports that the capturer delivers nothing for now.
  ///
  /// A device that was lost may come back: frames then simply follow. Otherwise none follow until the next start. The
  /// capturer remains started in both cases.
  ///
  /// - Parameter error: The failure; nil at the regular end of the input.
  func captureEnded(_ error: VidiconError?)
}

extension VideoConsumer {
  /// Does nothing; implemented by consumers that accept compressed video.
  public func consume(_ sample: EncodedSample, of description: CodecDescription) {}

  /// Does nothing; a missing frame also shows in the timestamps.
  public func captureSkipped(at timestamp: MediaTime) {}

  /// Does nothing; implemented by consumers that show their viewers why there is no frame.
  public func captureWaits(_ reason: VidiconError) {}

  /// Does nothing; implemented by consumers that depend on the format before the next frame arrives.
  public func captureFormatChanged(to format: VideoFormat) {}
}

/// A frame or audio block that was delivered and not used, or could not be captured.
public struct FrameDrop: Hashable, Sendable {
  /// Reason why a frame or audio block was dropped.
  public enum Reason: String, Hashable, Sendable, CaseIterable {
    /// The input queue was full: the pipeline is slower than the source, and newer frames replaced this one.
    case late
    /// The capturer had no memory left, since delivered frames still hold all of it.
    case noMemory
    /// The size, pixel format or sample format is not the one that the capturer announced.
    case wrongFormat
    /// The capturer or the stream was already being stopped.
    case stopped
  }

  /// Capture time: ``VideoFrame/timestamp`` or ``AudioBlock/timestamp``.
  public var timestamp: MediaTime
  /// Reason why the frame or audio block was not used.
  public var reason: Reason

  /// Creates a report of a frame or audio block with this capture time.
  public init(timestamp: MediaTime, reason: Reason) {
    self.timestamp = timestamp
    self.reason = reason
  }
}
