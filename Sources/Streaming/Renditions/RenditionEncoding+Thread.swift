internal import Codecs
internal import Effects
internal import Media
internal import NIOCore
internal import Synchronization
internal import Threading

// The threads of a rendition: one opens the encoder, encodes, and closes it, another one answers requests that wait too long.
extension RenditionEncoding {
  func run() {
    repeat { self.encodeWhileUsed() } while self.continues()
  }

  /// Whether the rendition has come into use again while its encoder was closed; otherwise the thread ends.
  private func continues() -> Bool {
    self.state.withLock { state in
      if case .opening = state.phase { return true }
      state.isThreadRunning = false
      return false
    }
  }

  /// Opens the encoder, encodes until the rendition is unused, and closes it: a device may have one only.
  private func encodeWhileUsed() {
    do throws(VidiconError) {
      let start = StreamClock.system.now()
      var bitrate = self.bitrate
      guard let encoder = try self.openEncoder(bitrate: bitrate), self.hasOpened(encoder, since: start) else { return }
      while let (item, target) = self.next() {
        if target != bitrate {
          bitrate = target
          encoder.setBitrate(target)
        }
        try self.encode(item, with: encoder)
      }
    } catch {
      self.fail(error)
    }
  }

  private enum OpeningStep {
    case open(Opened)
    case end
  }

  /// Opens the encoder on another thread, since a driver may never return.
  ///
  /// - Returns: Nil where the rendition has ended meanwhile.
  private func openEncoder(bitrate: Int) throws(VidiconError) -> (any VideoEncoder)? {
    let settings = VideoEncoderSettings(
      width: self.format.width, height: self.format.height, frameRate: self.format.frameRate,
      colorMatrix: self.format.colorMatrix, bitrate: bitrate,
      // Keyframes are those of the main rendition, or requested.
      keyframeInterval: .seconds(24 * 3600), encoder: self.encoder, profile: self.profile, rateBuffer: self.rateBuffer,
      maximumSliceLength: self.maximumSliceLength)
    let number = self.state.withLock { state in
      state.openingNumber += 1
      return state.openingNumber
    }
    let isStarted = WorkerThread.startDetached(named: "encoder") {
      let opened: Opened
      do throws(VidiconError) {
        opened = .success(TransferBox(try self.encoders.open(settings)))
      } catch {
        opened = .failure(error)
      }
      self.state.withLock { if $0.openingNumber == number { $0.opened = opened } }
    }
    guard isStarted else { throw .noThread("rendition") }
    let step = self.state.take { state -> OpeningStep? in
      guard case .opening = state.phase else {
        // The encoder is closed as soon as it is open.
        state.openingNumber += 1
        return .end
      }
      return state.opened.take().map { .open($0) }
    }
    switch step {
    case .open(.success(let box))?: return box.take()
    case .open(.failure(let error))?: throw error
    case .end?, nil: return nil
    }
  }

  var slowEncoder: VidiconError {
    VidiconError(
      .timedOut, subject: "rendition \(self.name.debugDescription)",
      cause: "its encoder \(self.encoder) has output nothing in 2 s", nextStep: "try again, or choose another encoder")
  }

  private func hasOpened(_ encoder: any VideoEncoder, since start: MediaTime) -> Bool {
    let (isOpen, waiters) = self.state.withLock { state -> (Bool, [Waiter]) in
      guard case .opening = state.phase else { return (false, []) }
      state.phase = .running
      state.statistics.starts += 1
      state.limiter = nil
      guard let description = encoder.description else { return (true, []) }
      state.description = .h264(description)
      defer { state.waiters = [] }
      return (true, state.waiters)
    }
    if let description = encoder.description {
      if isOpen { self.outputs.announce(.h264(description)) }
      for waiter in waiters { waiter.continuation.resume(returning: .success(.h264(description))) }
    }
    // A still source is shown again for new viewers at the full rate only for a while.
    if isOpen, StreamClock.system.now() - start >= VideoSchedule.joiningTime / 2 { self.requestFrame() }
    return isOpen
  }

  private enum Step {
    case encode(Item, bitrate: Int)
    case close
    case wait(until: MediaTime?)
  }

  /// Waits for a frame; nil when the encoder is to be closed.
  private func next() -> (Item, bitrate: Int)? {
    var deadline: MediaTime?
    while true {
      let step = self.state.take(until: deadline) { state -> Step? in
        guard case .running = state.phase else { return .close }
        if !state.frames.isEmpty { return .encode(state.frames.removeFirst(), bitrate: state.bitrate) }
        let closing = self.closingTime(of: state)
        if let closing, StreamClock.system.now() >= closing {
          state.phase = .idle
          return .close
        }
        return closing == deadline ? nil : .wait(until: closing)
      }
      switch step {
      case .encode(let item, let bitrate)?: return (item, bitrate)
      case .close?: return nil
      case .wait(let time)?: deadline = time
      case nil: deadline = nil
      }
    }
  }

  /// Time at which the encoder is closed; nil while it is in use.
  private func closingTime(of state: State) -> MediaTime? {
    state.users > 0 || !state.waiters.isEmpty ? nil : state.lastUse + self.lingerTime
  }

  private func encode(_ item: Item, with encoder: any VideoEncoder) throws(VidiconError) {
    let clock = StreamClock.system
    let start = clock.now()
    try encoder.encode(item.frame, forcesKeyframe: item.forcesKeyframe) { sample in
      let end = clock.now()
      let waiters = self.state.withLockWakingNone { state -> [Waiter] in
        state.isFailureReported = false
        state.statistics.framesEncoded += 1
        state.statistics.keyframes += sample.isKeyframe ? 1 : 0
        state.statistics.bytes += sample.payload.readableBytes
        state.statistics.encodeTime = state.statistics.encodeTime + (end - start)
        guard let description = encoder.description else { return [] }
        state.description = .h264(description)
        defer { state.waiters = [] }
        return state.waiters
      }
      guard let description = encoder.description.map(CodecDescription.h264) else { return }
      for waiter in waiters { waiter.continuation.resume(returning: .success(description)) }
      if !self.outputs.consumeVideo(sample, of: description, generation: item.generation) {
        self.state.withLockWakingNone { $0.isResuming = true }
      }
    }
  }

  /// Ends the outputs, since the encoder has failed; the stream continues.
  func fail(_ error: VidiconError) {
    let retryTime = StreamClock.system.now() + self.retryDelay
    let isReported = self.state.withLock { state in
      defer { state.isFailureReported = true }
      return !state.isFailureReported
    }
    self.end(as: .failed(error, retryTime: retryTime), with: error, isReported: isReported)
  }

  func end(as phase: Phase, with error: VidiconError, isReported: Bool = false) {
    let (waiters, isFirst) = self.state.withLock { state -> ([Waiter], Bool) in
      if case .ended = state.phase { return ([], false) }
      state.phase = phase
      state.frames = []
      state.opened = nil
      state.isResuming = true
      defer { state.waiters = [] }
      return (state.waiters, true)
    }
    guard isFirst else { return }
    if isReported { self.report(.renditionFailed(self.name, error)) }
    for waiter in waiters { waiter.continuation.resume(returning: .failure(error)) }
    self.outputs.endOutputs()
    self.usageChanged()
  }
}

// MARK: Requests that wait

extension RenditionEncoding {
  /// Starts the thread that answers requests that wait too long; the one that encodes may hang in a driver.
  func startExpiring() {
    guard !WorkerThread.startDetached(named: "preparation", { self.expireWaiters() }) else { return }
    self.state.withLock { $0.isExpiring = false }
    self.fail(.noThread("rendition"))
  }

  /// Answers the requests that wait too long, until none waits.
  private func expireWaiters() {
    while let deadline = self.nextExpiry() {
      // Earlier where they are answered otherwise.
      _ = self.state.wait(until: deadline) { $0.waiters.isEmpty ? () : nil }
      let now = StreamClock.system.now()
      let expired = self.state.withLock { state in
        let count = state.waiters.prefix { $0.deadline <= now }.count
        defer { state.waiters.removeFirst(count) }
        return state.waiters.prefix(count)
      }
      for waiter in expired { waiter.continuation.resume(returning: .failure(self.slowEncoder)) }
      if !expired.isEmpty { self.usageChanged() }
    }
  }

  /// Deadline of the first request that waits; nil, with which the thread ends, where none does.
  private func nextExpiry() -> MediaTime? {
    self.state.withLockWakingNone { state in
      if state.waiters.isEmpty { state.isExpiring = false }
      return state.waiters.first?.deadline
    }
  }
}
