internal import Synchronization

/// Runs one blocking computation at a time and shares its result among concurrent callers.
///
/// Device enumeration can take seconds, and a broken driver may never return. Callers that arrive before the computation
/// starts share its result; callers that arrive while it runs get the next one, so that a result is never older than the
/// call. Each caller waits at most `timeout`.
///
/// A computation whose callers have all timed out is abandoned, not cancelled: its thread may be stuck in a system call.
/// While ``maximumAbandonedThreads`` threads are stuck, calls return nil without starting another.
package final class SingleFlight<Output: Sendable>: Sendable {
  /// One run of the computation, and the callers that it answers.
  private struct Round {
    var identifier: UInt64
    var callers: [UInt64]
  }

  private struct State {
    var round: Round?
    var abandonedThreads = 0
    var waiting: [UInt64: CheckedContinuation<Output?, Never>] = [:]
    var lastNumber: UInt64 = 0

    mutating func nextNumber() -> UInt64 {
      self.lastNumber += 1
      return self.lastNumber
    }
  }

  /// Maximum number of threads that may be stuck in a computation.
  private static var maximumAbandonedThreads: Int { 2 }

  private let threadName: String
  private let timeout: Duration
  private let state = Mutex(State())

  /// - Parameters:
  ///   - threadName: Name of the worker thread, at most 15 bytes on Linux.
  ///   - timeout: Maximum time a caller waits.
  package init(threadName: String, timeout: Duration) {
    self.threadName = threadName
    self.timeout = timeout
  }

  /// Returns a result computed after this call was made.
  ///
  /// - Parameter compute: The same computation for every caller; may block.
  /// - Returns: Nil on timeout, or when no thread could be started.
  package func run(_ compute: @escaping @Sendable () -> Output) async -> Output? {
    let caller = self.state.withLock { $0.nextNumber() }
    var timer: Task<Void, any Error>?
    defer { timer?.cancel() }
    return await withCheckedContinuation { continuation in
      self.state.withLock { $0.waiting[caller] = continuation }
      self.startRound(compute)
      // The time begins here: a timer that ended before the caller is registered would never answer it.
      timer = Task {
        try await Task.sleep(for: self.timeout)
        self.expire(caller, compute)
      }
    }
  }

  /// Number of callers waiting for a result.
  var callerCount: Int { self.state.withLock { $0.waiting.count } }

  /// Starts a thread that computes for all current callers, unless one is running.
  private func startRound(_ compute: @escaping @Sendable () -> Output) {
    let round = self.state.withLock { state -> Round? in
      guard state.round == nil, !state.waiting.isEmpty, state.abandonedThreads < Self.maximumAbandonedThreads else {
        return nil
      }
      state.round = Round(identifier: state.nextNumber(), callers: Array(state.waiting.keys))
      return state.round
    }
    guard let round else { return }
    let isStarted = WorkerThread.startDetached(named: self.threadName) {
      self.finish(round, with: compute())
      self.startRound(compute)
    }
    if !isStarted { self.finish(round, with: nil) }
  }

  private func finish(_ round: Round, with output: Output?) {
    let callers = self.state.withLock { state in
      if state.round?.identifier == round.identifier { state.round = nil } else { state.abandonedThreads -= 1 }
      return round.callers.compactMap { state.waiting.removeValue(forKey: $0) }
    }
    for continuation in callers { continuation.resume(returning: output) }
  }

  /// Answers a caller whose time is over. If the running round was to answer it, abandons that round's thread and starts
  /// another for the remaining callers.
  private func expire(_ caller: UInt64, _ compute: @escaping @Sendable () -> Output) {
    let continuation = self.state.withLock { state in
      if state.round?.callers.contains(caller) == true {
        state.round = nil
        state.abandonedThreads += 1
      }
      return state.waiting.removeValue(forKey: caller)
    }
    continuation?.resume(returning: nil)
    self.startRound(compute)
  }
}
