public import Capture
public import Media
internal import Synchronization
internal import Threading

/// A microphone, or any other source of sound that ALSA knows, also those of PipeWire and PulseAudio.
///
/// Its blocks are even: the drift of the device's clock against the streams' is taken out by resampling, so that a day
/// later sound and picture still belong together. A device that is lost is reported once with
/// ``AudioConsumer/captureEnded(_:)`` and looked for several times a second; when it is back, its sound simply goes on.
public final class MicrophoneCapturer: AudioCapturer {
  /// Which microphone.
  public let specification: MicrophoneSpecification
  private let settled: Mutex<AudioFormat>
  private let thread = WorkerThread(name: "microphone")

  /// How long the first opening may take: a sound server that hangs answers never.
  static let patience = MediaDuration.seconds(5)
  /// How long stopping waits for a device that hangs.
  static let stopPatience = MediaDuration.milliseconds(800)

  /// A microphone, which is opened when it is started.
  public init(_ specification: MicrophoneSpecification = MicrophoneSpecification()) {
    self.specification = specification
    self.settled = Mutex(
      AudioFormat(
        sampleRate: specification.sampleRate ?? 48_000, channelCount: specification.channelCount ?? 2))
  }

  deinit {
    self.stop()
  }

  /// What was asked for, and what the device has where nothing was.
  public var format: AudioFormat {
    self.settled.withLock { $0 }
  }

  /// Whether it delivers, or looks for its device.
  public var isStarted: Bool {
    self.thread.isStarted
  }

  /// Opens the device and begins to deliver.
  ///
  /// - Throws: ``VidiconError``: ``VidiconError/Code/notFound`` when there is no such device, with those that there are,
  ///   ``VidiconError/Code/notPermitted`` when the user may not open it or another program holds it,
  ///   ``VidiconError/Code/failed`` when it does not work or not answer.
  public func start(consumer: any AudioConsumer) throws(VidiconError) {
    guard !self.thread.isStarted else { return }
    #if canImport(CALSA)
    let opening = Monitor<Result<AudioFormat, VidiconError>?>(nil)
    let search = MicrophoneSearch(specification: self.specification)
    try self.thread.start { signal in
      MicrophoneRun(search: search, consumer: consumer, signal: signal).run { result in
        opening.withLock { $0 = result }
      }
    }
    let result = opening.wait(until: StreamClock.system.now() + Self.patience) { $0 }
    switch result {
    case .success(let format): self.settled.withLock { $0 = format }
    case .failure(let error):
      self.stop()
      throw error
    case nil:
      self.stop()
      throw VidiconError(
        .failed, subject: self.specification.description, cause: "the device or the sound server does not answer",
        nextStep: "restart the sound server, or choose a device that is listed by: vidicon devices")
    }
    #else
    throw VidiconError(
      .notFound, subject: self.specification.description, cause: "microphones are captured on Linux only",
      nextStep: "use tone, silence or file:PATH")
    #endif
  }

  /// Ends delivery and closes the device.
  public func stop() {
    self.thread.stop(within: Self.stopPatience)
  }
}
