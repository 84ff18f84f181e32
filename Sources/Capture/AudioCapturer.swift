public import Media

/// A source of uncompressed audio: a microphone, a file, or code that synthesizes it.
///
/// The threading rules are those of ``VideoCapturer``: ``start(consumer:)`` and ``stop()`` are never called at the same
/// time, the consumer is called on the capturer's own thread, one call at a time.
///
/// The stream that it is attached to starts and stops it:
///
/// ```swift
/// stream.attachAudio(ToneCapturer())
/// ```
public protocol AudioCapturer: AnyObject, Sendable {
  /// Sample rate and channel count of the blocks; constant once ``start(consumer:)`` has returned.
  var format: AudioFormat { get }

  /// True from a successful ``start(consumer:)`` until ``stop()``, also while a lost device is searched for.
  var isStarted: Bool { get }

  /// Opens the source and starts delivery; returns without waiting for the first block. Not called while started.
  ///
  /// May block while a device opens. The consumer is retained until ``stop()`` and may be called before this returns.
  ///
  /// - Throws: A ``VidiconError`` when the source cannot be opened; the capturer is then still stopped, and the consumer is
  ///   not called.
  func start(consumer: any AudioConsumer) throws(VidiconError)

  /// Ends delivery: once it returns, the consumer is not called again. Does nothing when not started.
  ///
  /// The consumer may call it from within a callback; that callback is then the last one.
  func stop()

  /// Reports a delivered block that the stream did not use.
  ///
  /// Called on any thread; must return without blocking. By default does nothing.
  func didDrop(_ drop: FrameDrop)
}

extension AudioCapturer {
  /// Does nothing; implemented by capturers that count or report their unused blocks.
  public func didDrop(_ drop: FrameDrop) {}
}

/// Receives what an ``AudioCapturer`` captures, on the capturer's thread, one call at a time and in order of time.
public protocol AudioConsumer: AnyObject, Sendable {
  /// Enqueues a block in the capturer's ``AudioCapturer/format``; must return without blocking.
  ///
  /// Blocks of one run follow each other without gap; after lost samples the next timestamp is later than the end of the
  /// block before.
  func consume(_ block: AudioBlock)

  /// Reports that the capturer delivers nothing for now. A device that was lost may come back: blocks then simply follow.
  ///
  /// - Parameter error: The failure; nil at the regular end of the input.
  func captureEnded(_ error: VidiconError?)
}
