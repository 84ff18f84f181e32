internal import Media
internal import Threading

/// Replaces the current source by another one without a gap: the current one continues until the first item of the
/// other one has arrived. On failure nothing changes.
struct SourceSwitch<InputQueue: SourceInputQueue>: Sendable {
  let kind: MediaKind
  let inputQueue: InputQueue
  /// Connection of the new source.
  let feed: InputQueue.Feed
  let timeouts: SwitchTimeouts
  /// Opens the new source; may block indefinitely.
  let start: @Sendable () throws(VidiconError) -> Void
  /// Stops the new source; called once for each start that succeeded, unless the source has become the current one.
  let stop: @Sendable () -> Void
  /// Called when the start has returned; where the switch had ended by then, after the source was stopped again.
  let startReturned: @Sendable () -> Void

  /// Blocks until the new source is the current one or has failed, in bounded time, whatever the source does.
  ///
  /// - Returns: A failure when the current source stays; the new one is then stopped, or will be once its start has
  ///   returned.
  func run() -> Result<Void, VidiconError> {
    guard self.inputQueue.withSlot({ $0.admit(self.feed) }) else {
      self.startReturned()
      return .failure(.streamEnded)
    }
    guard WorkerThread.startDetached(named: "open", self.open) else {
      _ = self.inputQueue.withSlot { $0.withdraw(self.feed) }
      self.startReturned()
      return .failure(.noThread("stream"))
    }
    let error = self.waitForStart() ?? self.waitForFirstItem()
    if error == nil, self.inputQueue.cut(to: self.feed) { return .success(()) }
    if self.inputQueue.withSlot({ $0.withdraw(self.feed) }) { self.stop() }
    return .failure(error ?? .streamEnded)
  }

  private func open() {
    let result: Result<Void, VidiconError>
    do throws(VidiconError) {
      try self.start()
      result = .success(())
    } catch {
      result = .failure(error)
    }
    let isWanted = self.inputQueue.withSlot { $0.started(self.feed, result) }
    if !isWanted, case .success = result { self.stop() }
    self.startReturned()
  }

  private func waitForStart() -> VidiconError? {
    let result = self.inputQueue.waitForSlot(until: StreamClock.system.now() + self.timeouts.start) {
      slot -> Result<Void, VidiconError>? in
      if slot.isClosed { return .failure(.streamEnded) }
      return slot.startResult(of: self.feed)
    }
    switch result {
    case .success: return nil
    case .failure(let error): return error
    case nil:
      return self.error(
        "it was not open after \(self.timeouts.start.seconds) s", nextStep: "check that it answers, then try again")
    }
  }

  private func waitForFirstItem() -> VidiconError? {
    let (item, media) = self.kind == .video ? ("frame", "video") : ("audio block", "audio")
    let result = self.inputQueue.waitForSlot(until: StreamClock.system.now() + self.timeouts.firstItem) {
      slot -> Result<Void, VidiconError>? in
      if slot.isClosed { return .failure(.streamEnded) }
      if !slot.waitingItems.isEmpty { return .success(()) }
      return slot.waitingEnding.map { ending in
        .failure(ending ?? self.error("it ended before its first \(item)", nextStep: "check that it has \(media)"))
      }
    }
    switch result {
    case .success: return nil
    case .failure(let error): return error
    case nil:
      return self.error(
        "it delivered no \(item) within \(self.timeouts.firstItem.seconds) s",
        nextStep: "check that it is on and not used by another program, then try again")
    }
  }

  private func error(_ cause: String, nextStep: String) -> VidiconError {
    VidiconError(.failed, subject: "new \(self.kind.rawValue) source", cause: cause, nextStep: nextStep)
  }
}

/// Maximum durations of the two phases of a switch.
struct SwitchTimeouts: Hashable, Sendable {
  /// Timeout of the start, which may look for a device or connect to a server.
  var start = MediaDuration.seconds(10)
  /// Timeout of the first frame or block after that.
  var firstItem = MediaDuration.seconds(5)
}
