public import Media

/// Where sound comes from: a microphone, a file, or code that makes it.
///
/// The same rules hold as for ``VideoCapturer``.
public protocol AudioCapturer: AnyObject, Sendable {
  /// The settings: sample rate and channels of the blocks. Final once ``start(consumer:)`` has returned.
  var format: AudioFormat { get }

  /// Whether it is between a ``start(consumer:)`` that succeeded and ``stop()``.
  var isStarted: Bool { get }

  /// Begins to deliver blocks, and returns without waiting for the first one.
  ///
  /// - Throws: A ``VidiconError`` when the source cannot be opened; the capturer is then still stopped.
  func start(consumer: any AudioConsumer) throws(VidiconError)

  /// Ends delivery. When it returns no further block comes; without effect when not started.
  func stop()

  /// Told of each block that was handed over and not used, on any thread; must return at once.
  func didDrop(_ drop: FrameDrop)
}

extension AudioCapturer {
  /// Does nothing.
  public func didDrop(_ drop: FrameDrop) {}
}

/// Whom a capturer hands its sound to.
public protocol AudioConsumer: AnyObject, Sendable {
  /// Takes over one block; returns at once, never waits for the encoder.
  func consume(_ block: AudioBlock)

  /// Told that no more blocks will come until the capturer is started again: nil at the end of the input, an error when
  /// the source failed.
  func captureEnded(_ error: VidiconError?)
}
