internal import Capture
internal import Threading

#if canImport(CALSA)
internal import CALSA
internal import Libc
internal import Media

/// The capture loop of a microphone: opens the device, delivers its blocks, and searches for it after it was lost.
struct MicrophoneCaptureLoop: Sendable {
  let search: MicrophoneSearch
  let consumer: any AudioConsumer
  let signal: StopSignal

  /// Interval between two searches for a lost device.
  static let retryInterval = MediaDuration.milliseconds(300)
  /// Time without samples after which a device counts as lost.
  static let readTimeout = MediaDuration.seconds(2)

  /// Runs until the signal.
  ///
  /// - Parameter opened: Called once with the format, or with the error of the first opening, which ends the loop.
  func run(opened: (Result<AudioFormat, VidiconError>) -> Void) {
    var device: PCM?
    let format: AudioFormat
    let stableName: String?
    do throws(VidiconError) {
      let first = try self.search.open()
      let specification = self.search.specification
      format = AudioFormat(
        sampleRate: specification.sampleRate ?? first.format.sampleRate,
        channelCount: specification.channelCount ?? first.format.channelCount)
      stableName = first.stableName
      device = first
    } catch {
      return opened(.failure(error))
    }
    opened(.success(format))

    var isReported = false
    while device != nil, !self.signal.isStopped {
      let end = self.runAndClose(&device, as: format) { isReported = false }
      guard let end, !self.signal.isStopped else { return }
      if !isReported { self.consumer.captureEnded(end) }
      isReported = true
      device = self.searchAgain(stableName)
    }
  }

  /// Searches for the lost device until it can be opened; nil when the thread must end.
  private func searchAgain(_ stableName: String?) -> PCM? {
    while self.signal.wait(until: StreamClock.system.now() + Self.retryInterval) {
      // ALSA checks which sound server runs while it reads its configuration.
      snd_config_update_free_global()
      do throws(VidiconError) {
        return try self.search.open(stableName: stableName)
      } catch {
        // The loss was reported already.
      }
    }
    return nil
  }

  /// Delivers blocks until the signal or a failure, then closes the device.
  ///
  /// - Parameter delivered: Called for each block.
  /// - Returns: Why the device was lost; nil when the thread must end.
  private func runAndClose(_ device: inout PCM?, as format: AudioFormat, delivered: () -> Void) -> VidiconError? {
    guard let pcm = device.take() else { return nil }
    do throws(PCMFailure) {
      let available = try pcm.start()
      var pace = DevicePace(
        rate: pcm.format.sampleRate, capacity: pcm.bufferSize, available: available, at: StreamClock.system.now())
      var corrector = try self.corrector(pcm, format, pace)
      var lastArrival = StreamClock.system.now()
      while !self.signal.isStopped {
        if pace.isUnpaced {
          guard self.signal.wait(until: pace.time + Self.blockDuration) else { return nil }
        } else {
          try pcm.wait()
        }
        let reading = try pcm.read()
        let now = StreamClock.system.now()
        switch reading {
        case .samples(let samples, let time):
          lastArrival = now
          let wasUnpaced = pace.isUnpaced
          let block = try self.convertingErrors(of: pcm) { () throws(VidiconError) in
            try corrector.correct(samples, at: wasUnpaced ? pace.time : time)
          }
          if self.signal.isStopped { return nil }
          if let block { self.consumer.consume(block) }
          delivered()
          if pace.advance(by: samples.count / pcm.format.channelCount, at: now) {
            corrector = try self.corrector(pcm, format, pace)
          }
        case .gap:
          try self.convertingErrors(of: pcm) { () throws(VidiconError) in try corrector.restart() }
        case .nothing:
          guard now - lastArrival < Self.readTimeout else {
            throw PCMFailure(number: ETIMEDOUT, action: "read", name: pcm.name)
          }
          // Some devices wake without samples; the pause keeps the thread from spinning.
          _ = self.signal.wait(until: now + .milliseconds(2))
        }
      }
      return nil
    } catch {
      return self.search.vidiconError(error)
    }
  }

  /// Interval at which a device without a clock is read.
  private static let blockDuration = MediaDuration.milliseconds(20)

  private func corrector(
    _ pcm: PCM, _ format: AudioFormat, _ pace: DevicePace
  ) throws(PCMFailure) -> DriftCorrector {
    try self.convertingErrors(of: pcm) { () throws(VidiconError) in
      try DriftCorrector(from: pcm.format, to: format, followsClock: !pace.isUnpaced)
    }
  }

  private func convertingErrors<Result>(
    of pcm: PCM, _ body: () throws(VidiconError) -> Result
  ) throws(PCMFailure) -> Result {
    do throws(VidiconError) {
      return try body()
    } catch {
      throw PCMFailure(number: ENOTSUP, action: "resampled", name: pcm.name)
    }
  }
}
#endif
