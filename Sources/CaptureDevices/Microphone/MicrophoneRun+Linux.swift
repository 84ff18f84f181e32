internal import Capture
internal import Threading

#if canImport(CALSA)
internal import CALSA
internal import Glibc
internal import Media

/// What a started microphone does on its thread: it opens the device, hands over its sound, and looks for it again when
/// it is lost.
struct MicrophoneRun: Sendable {
  let search: MicrophoneSearch
  let consumer: any AudioConsumer
  let signal: StopSignal

  /// How often a lost device is looked for.
  static let retryInterval = MediaDuration.milliseconds(300)
  /// How long a device may give nothing before it is taken for lost.
  static let patience = MediaDuration.seconds(2)

  /// Runs until the signal.
  ///
  /// - Parameter opened: Told once of the format, or of why it cannot be opened, which ends it.
  func run(opened: (Result<AudioFormat, VidiconError>) -> Void) {
    var device: PCM?
    let format: AudioFormat
    let stableName: String?
    do throws(VidiconError) {
      let first = try self.search.open()
      let wish = self.search.specification
      format = AudioFormat(
        sampleRate: wish.sampleRate ?? first.format.sampleRate,
        channelCount: wish.channelCount ?? first.format.channelCount)
      stableName = first.stableName
      device = first
    } catch {
      return opened(.failure(error))
    }
    opened(.success(format))

    var isReported = false
    while device != nil, !self.signal.isStopped {
      let end = self.playAndClose(&device, as: format) { isReported = false }
      guard let end, !self.signal.isStopped else { return }
      if !isReported { self.consumer.captureEnded(end) }
      isReported = true
      device = self.searchAgain(stableName)
    }
  }

  /// Looks for the device until it is there; nil when the thread shall end.
  private func searchAgain(_ stableName: String?) -> PCM? {
    while self.signal.wait(until: StreamClock.system.now() + Self.retryInterval) {
      // What there is depends on which sound server runs; ALSA looks at that when it reads its configuration.
      snd_config_update_free_global()
      do throws(VidiconError) {
        return try self.search.open(stableName: stableName)
      } catch {
        // It was told when the device was lost; now it is a matter of patience.
      }
    }
    return nil
  }

  /// Hands over sound until the signal or a failure.
  ///
  /// - Parameter delivered: Called for each block.
  /// - Returns: Why the device is lost; nil when the thread shall end.
  private func playAndClose(_ device: inout PCM?, as format: AudioFormat, delivered: () -> Void) -> VidiconError? {
    guard let pcm = device.take() else { return nil }
    do throws(PCMFailure) {
      let available = try pcm.start()
      var pace = DevicePace(
        rate: pcm.format.sampleRate, capacity: pcm.bufferSize, available: available, at: StreamClock.system.now())
      var corrector = try self.corrector(pcm, format, pace)
      var lastSound = StreamClock.system.now()
      while !self.signal.isStopped {
        if pace.isUnpaced {
          guard self.signal.wait(until: pace.time + Self.blockDuration) else { return nil }
        } else {
          try pcm.wait()
        }
        let reading = try pcm.read()
        let now = StreamClock.system.now()
        switch reading {
        case .sound(let samples, let time):
          lastSound = now
          let wasUnpaced = pace.isUnpaced
          let block = try self.failing(pcm) { () throws(VidiconError) in
            try corrector.correct(samples, at: wasUnpaced ? pace.time : time)
          }
          if self.signal.isStopped { return nil }
          if let block { self.consumer.consume(block) }
          delivered()
          if pace.advance(by: samples.count / pcm.format.channelCount, at: now) {
            corrector = try self.corrector(pcm, format, pace)
          }
        case .gap:
          try self.failing(pcm) { () throws(VidiconError) in try corrector.restart() }
        case .nothing:
          guard now - lastSound < Self.patience else {
            throw PCMFailure(number: ETIMEDOUT, action: "read", name: pcm.name)
          }
          // Some devices report sound that is not there; that is not to keep a core busy.
          _ = self.signal.wait(until: now + .milliseconds(2))
        }
      }
      return nil
    } catch {
      return self.search.error(error)
    }
  }

  /// What a device without a clock is read in.
  private static let blockDuration = MediaDuration.milliseconds(20)

  private func corrector(
    _ pcm: PCM, _ format: AudioFormat, _ pace: DevicePace
  ) throws(PCMFailure) -> DriftCorrector {
    try self.failing(pcm) { () throws(VidiconError) in
      try DriftCorrector(from: pcm.format, to: format, followsClock: !pace.isUnpaced)
    }
  }

  private func failing<Result>(
    _ pcm: PCM, _ body: () throws(VidiconError) -> Result
  ) throws(PCMFailure) -> Result {
    do throws(VidiconError) {
      return try body()
    } catch {
      throw PCMFailure(number: ENOTSUP, action: "resampled", name: pcm.name)
    }
  }
}
#endif
