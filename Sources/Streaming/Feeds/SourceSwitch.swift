internal import Media
internal import Threading

/// Replaces the current source by another one without a gap: the current one continues until the first item of the
/// other one has arrived. On failure nothing changes.
struct SourceSwitch<InputQueue: SourceInputQueue>: Sendable {
  let kind: MediaKind
  let inputQueue: InputQueue
  /// Connection of the new source.
  let feed: InputQueue.Feed
  /// Opens the new source.
  let opening: SourceOpening
  let timeouts: SwitchTimeouts

  /// Blocks until the new source is the current one or has failed, in bounded time, whatever the source does.
  ///
  /// - Returns: A failure when the current source stays; the new one is then stopped, or will be once its start has
  ///   returned.
  func run() -> Result<Void, VidiconError> {
    guard self.inputQueue.withSlot({ $0.admit(self.feed) }) else {
      self.opening.returned()
      return .failure(.streamEnded)
    }
    if let error = self.open() {
      self.inputQueue.withSlot { $0.withdraw(self.feed) }
      return .failure(error)
    }
    let error = self.waitForFirstItem()
    if error == nil, self.inputQueue.cut(to: self.feed) { return .success(()) }
    self.inputQueue.withSlot { $0.withdraw(self.feed) }
    self.opening.stop()
    return .failure(error ?? .streamEnded)
  }

  private var subject: String { "new \(self.kind.rawValue) source" }

  private func open() -> VidiconError? {
    switch self.opening.run(timeout: self.timeouts.start) {
    case .opened: nil
    case .failed(let error): error
    case .timedOut: .sourceNotOpen(self.subject, after: self.timeouts.start)
    case .abandoned: .streamEnded
    case nil: .noThread("stream")
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
    VidiconError(.failed, subject: self.subject, cause: cause, nextStep: nextStep)
  }
}

/// Maximum durations of the two phases of a switch.
struct SwitchTimeouts: Hashable, Sendable {
  /// Timeout of the start, which may look for a device or connect to a server.
  var start = MediaDuration.seconds(10)
  /// Timeout of the first frame or block after that.
  var firstItem = MediaDuration.seconds(5)
}
