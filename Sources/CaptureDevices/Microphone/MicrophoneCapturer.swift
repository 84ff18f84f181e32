public import Capture
public import Media
internal import Synchronization
internal import Threading

/// Captures a microphone or any other audio input through ALSA, including those of PipeWire and PulseAudio.
///
/// The blocks are continuous: resampling removes the drift of the device's clock against the ``StreamClock``, so that audio
/// and video stay in sync for days. A lost device is reported once by ``AudioConsumer/captureEnded(_:)`` and searched for
/// several times per second; when it is back, blocks follow.
public final class MicrophoneCapturer: AudioCapturer {
  /// The selected microphone, and the requested sample rate and channel count.
  public let specification: MicrophoneSpecification
  private let negotiatedFormat: Mutex<AudioFormat>
  private let thread = WorkerThread(name: "microphone")

  /// Maximum time to open the device, since a sound server may hang.
  static let openTimeout = MediaDuration.seconds(5)
  /// Maximum time that ``stop()`` waits for a device that hangs.
  static let stopTimeout = MediaDuration.milliseconds(800)

  /// Creates a capturer; the device is opened by ``start(consumer:)``.
  public init(_ specification: MicrophoneSpecification = MicrophoneSpecification()) {
    self.specification = specification
    self.negotiatedFormat = Mutex(
      AudioFormat(
        sampleRate: specification.sampleRate ?? 48_000, channelCount: specification.channelCount ?? 2))
  }

  deinit {
    self.stop()
  }

  /// The requested format; where none was requested, that of the device after the start.
  public var format: AudioFormat {
    self.negotiatedFormat.withLock { $0 }
  }

  /// Whether the microphone captures, or is searched for after it was lost.
  public var isStarted: Bool {
    self.thread.isStarted
  }

  /// Opens the device and starts capturing; blocks for up to 5 s.
  ///
  /// - Throws: ``VidiconError``: ``VidiconError/Code/notFound`` when there is no such device, with the existing ones,
  ///   ``VidiconError/Code/notPermitted`` when the user may not open it or another program uses it,
  ///   ``VidiconError/Code/failed`` when it does not work or does not respond.
  public func start(consumer: any AudioConsumer) throws(VidiconError) {
    guard !self.thread.isStarted else { return }
    #if canImport(CALSA)
    let opening = Monitor<Result<AudioFormat, VidiconError>?>(nil)
    let search = MicrophoneSearch(specification: self.specification)
    try self.thread.start { signal in
      MicrophoneCaptureLoop(search: search, consumer: consumer, signal: signal).run { result in
        opening.withLock { $0 = result }
      }
    }
    let result = opening.wait(until: StreamClock.system.now() + Self.openTimeout) { $0 }
    switch result {
    case .success(let format): self.negotiatedFormat.withLock { $0 = format }
    case .failure(let error):
      self.stop()
      throw error
    case nil:
      self.stop()
      throw VidiconError(
        .failed, subject: self.specification.description, cause: "the device or the sound server does not respond",
        nextStep: "restart the sound server, or choose a device that is listed by: vidicon devices")
    }
    #else
    throw VidiconError(
      .notFound, subject: self.specification.description, cause: "microphones are captured on Linux only",
      nextStep: "use tone, silence or file:PATH")
    #endif
  }

  /// Stops capturing and closes the device; returns within a second even when the device hangs.
  public func stop() {
    self.thread.stop(within: Self.stopTimeout)
  }
}
