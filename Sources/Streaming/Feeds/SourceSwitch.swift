internal import Media
internal import Threading

/// Puts another source in the place of the present one, without a gap: the present one goes on until the other one's
/// first item is there. When that does not come, everything stays as it was.
struct SourceSwitch<Mailbox: SourceInputQueue>: Sendable {
  let kind: MediaKind
  let inputQueue: Mailbox
  /// The way of the new source.
  let feed: Mailbox.Feed
  let timeouts: SwitchTimeouts
  /// Opens the new source; may block for any time.
  let start: @Sendable () throws(VidiconError) -> Void
  /// Stops the new source; called once for each start that succeeded, unless it has taken the other one's place.
  let stop: @Sendable () -> Void
  /// Called when the start has ended and, where it came too late, the source is stopped again.
  let settled: @Sendable () -> Void

  /// Blocks until the new source has taken over or failed, in bounded time, whatever the source does.
  ///
  /// - Returns: A failure when the present source stays; the new one is then stopped, or will be as soon as its start has
  ///   come to an end.
  func run() -> Result<Void, VidiconError> {
    guard self.inputQueue.withSlot({ $0.admit(self.feed) }) else {
      self.settled()
      return .failure(.streamEnded)
    }
    guard WorkerThread.startDetached(named: "open", self.open) else {
      _ = self.inputQueue.withSlot { $0.withdraw(self.feed) }
      self.settled()
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
    self.settled()
  }

  private func waitForStart() -> VidiconError? {
    let result = self.inputQueue.waitForSlot(until: StreamClock.system.now() + self.timeouts.start) {
      seat -> Result<Void, VidiconError>? in
      if seat.isClosed { return .failure(.streamEnded) }
      return seat.startResult(of: self.feed)
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
    let what = self.kind == .video ? "picture" : "sound"
    let result = self.inputQueue.waitForSlot(until: StreamClock.system.now() + self.timeouts.firstItem) {
      seat -> Result<Void, VidiconError>? in
      if seat.isClosed { return .failure(.streamEnded) }
      if !seat.waitingItems.isEmpty { return .success(()) }
      return seat.waitingEnding.map { ending in
        .failure(ending ?? self.error("it ended before its first \(what)", nextStep: "check that it has \(what)s"))
      }
    }
    switch result {
    case .success: return nil
    case .failure(let error): return error
    case nil:
      return self.error(
        "it gave no \(what) within \(self.timeouts.firstItem.seconds) s",
        nextStep: "check that it is on and not used by another program, then try again")
    }
  }

  private func error(_ cause: String, nextStep: String) -> VidiconError {
    VidiconError(.failed, subject: "new \(self.kind.rawValue) source", cause: cause, nextStep: nextStep)
  }
}

/// How long a switch waits for the new source.
struct SwitchTimeouts: Hashable, Sendable {
  /// For its start, which may look for a device or connect to a server.
  var start = MediaDuration.seconds(10)
  /// From there for its first picture or sound.
  var firstItem = MediaDuration.seconds(5)
}
