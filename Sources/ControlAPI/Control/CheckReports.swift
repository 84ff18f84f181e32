internal import Media
internal import Synchronization

/// The reports of a check that takes the machine seconds: one check at a time, whose report all clients get that ask
/// meanwhile, and none for a while after the last one, whose report stands for that time.
///
/// `HTTPResponder` has one, for all clients:
///
/// ```swift
/// let entry = await self.checks.report(self.providers.check)
/// ```
final class CheckReports: Sendable {
  private enum State {
    case idle
    case checking(Task<CheckEntry?, Never>)
    case made(CheckEntry, at: MediaTime)
  }

  /// Time after a check for which its report stands.
  private let interval: MediaDuration
  private let now: @Sendable () -> MediaTime
  private let state = Mutex(State.idle)

  /// No report yet.
  ///
  /// - Parameters:
  ///   - interval: Minimum time from the end of a check to the next one.
  ///   - now: The current time.
  init(interval: MediaDuration, now: @escaping @Sendable () -> MediaTime) {
    self.interval = interval
    self.now = now
  }

  /// The report of the check in progress, of the last one, or of one that begins.
  ///
  /// - Parameter check: Checks the machine; nil where the program has no check. A client that leaves does not end it.
  func report(_ check: @escaping @Sendable () async -> CheckEntry?) async -> CheckEntry? {
    let now = self.now()
    let (ready, task) = self.state.withLock { state -> (CheckEntry?, Task<CheckEntry?, Never>?) in
      switch state {
      case .made(var entry, let time) where now - time < self.interval:
        entry.age = Int((now - time).seconds)
        return (entry, nil)
      case .checking(let task): return (nil, task)
      case .idle, .made:
        let task = Task { await self.make(check) }
        state = .checking(task)
        return (nil, task)
      }
    }
    if let ready { return ready }
    return await task?.value
  }

  private func make(_ check: @Sendable () async -> CheckEntry?) async -> CheckEntry? {
    var entry = await check()
    entry?.age = 0
    let time = self.now()
    let next = entry.map { State.made($0, at: time) } ?? .idle
    self.state.withLock { $0 = next }
    return entry
  }
}
