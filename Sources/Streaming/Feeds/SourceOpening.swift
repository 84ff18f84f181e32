internal import Media
internal import Threading

/// Opens the first sources of a stream, one after the other, on a thread of their own: opening a device may block for
/// ever with a broken driver.
///
/// A source that is being opened when the opening is given up is stopped once its start has returned.
final class SourceOpening: Sendable {
  /// A source to open.
  struct Source: Sendable {
    let kind: MediaKind
    let start: @Sendable () throws(VidiconError) -> Void
    let stop: @Sendable () -> Void
  }

  /// Result of an opening.
  enum Outcome {
    case opened
    /// A source has failed; the ones before it are open.
    case failed(MediaKind, VidiconError)
    /// All sources are stopped, or will be. The kind whose source did not respond; nil when the stream was stopped.
    case abandoned(MediaKind?)
  }

  private enum Event {
    /// A source is open, others follow.
    case advanced
    case ended(Outcome)
    case abandoned
  }

  private struct State {
    var openedCount = 0
    /// Set by the thread that opens.
    var outcome: Outcome?
    var isAbandoned = false
  }

  private let sources: [Source]
  private let state = Monitor(State())

  init(_ sources: [Source]) {
    self.sources = sources
  }

  /// Makes ``run(timeout:)`` return.
  func abandon() {
    self.state.withLock { $0.isAbandoned = true }
  }

  /// Blocks until all sources are open, one has failed or does not respond in time, or ``abandon()`` is called.
  ///
  /// - Parameter timeout: Maximum time for each source.
  /// - Returns: Nil when no thread could be started.
  func run(timeout: MediaDuration) -> Outcome? {
    guard WorkerThread.startDetached(named: "open", self.open) else { return nil }
    while true {
      let count = self.state.read { $0.openedCount }
      let event = self.state.wait(until: StreamClock.system.now() + timeout) { state -> Event? in
        if let outcome = state.outcome { return .ended(outcome) }
        if state.isAbandoned { return .abandoned }
        return state.openedCount > count ? .advanced : nil
      }
      switch event {
      case .advanced: continue
      case .ended(let outcome): return outcome
      case .abandoned: return self.stopOpened(.abandoned(nil))
      case nil: return self.stopOpened(.abandoned(self.sources[min(count, self.sources.count - 1)].kind))
      }
    }
  }

  /// Stops the sources that are open, unless the last one has been opened meanwhile.
  private func stopOpened(_ abandoned: Outcome) -> Outcome {
    let (count, outcome) = self.state.withLock { state in
      state.isAbandoned = true
      return (state.openedCount, state.outcome)
    }
    if let outcome { return outcome }
    for source in self.sources.prefix(count) { source.stop() }
    return abandoned
  }

  private func open() {
    for source in self.sources {
      do throws(VidiconError) {
        try source.start()
      } catch {
        return self.state.withLock { $0.outcome = $0.isAbandoned ? nil : .failed(source.kind, error) }
      }
      let isWanted = self.state.withLock { state in
        guard !state.isAbandoned else { return false }
        state.openedCount += 1
        if state.openedCount == self.sources.count { state.outcome = .opened }
        return true
      }
      guard isWanted else { return source.stop() }
    }
  }
}
