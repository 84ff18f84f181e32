internal import Streaming
internal import Synchronization

/// Waits for what may never come, and not for ever.
package enum Patience {
  /// Runs a blocking call on a thread of its own.
  ///
  /// - Returns: Its result; nil when no thread can be started, or when it takes longer than the limit: then it goes on by
  ///   itself, and its result is let go.
  package static func run<Result: Sendable>(
    named name: String, within limit: Duration, _ body: @escaping @Sendable () -> Result
  ) async -> Result? {
    await self.race(within: limit) {
      await withCheckedContinuation { (continuation: CheckedContinuation<Result?, Never>) in
        let isStarted = WorkerThread.startDetached(named: name) { continuation.resume(returning: body()) }
        if !isStarted { continuation.resume(returning: nil) }
      }
    } ?? nil
  }

  /// Runs an asynchronous call.
  ///
  /// - Returns: Its result; nil when it takes longer than the limit: then it goes on by itself, and its result is let go.
  package static func race<Result: Sendable>(
    within limit: Duration, _ body: @escaping @Sendable () async -> Result
  ) async -> Result? {
    let waiting = Waiting<Result>()
    let timer = Task {
      try await Task.sleep(for: limit)
      waiting.resume(returning: nil)
    }
    defer { timer.cancel() }
    return await withCheckedContinuation { continuation in
      waiting.wait(continuation)
      Task { waiting.resume(returning: await body()) }
    }
  }

  /// A continuation that is resumed by whoever comes first.
  private final class Waiting<Result: Sendable>: Sendable {
    private enum State {
      case new, waiting(CheckedContinuation<Result?, Never>), over
    }

    private let state = Mutex(State.new)

    func wait(_ continuation: CheckedContinuation<Result?, Never>) {
      let isOver = self.state.withLock { state in
        if case .over = state { return true }
        state = .waiting(continuation)
        return false
      }
      // The limit was shorter than the way to here.
      if isOver { continuation.resume(returning: nil) }
    }

    func resume(returning result: Result?) {
      let continuation = self.state.withLock { state -> CheckedContinuation<Result?, Never>? in
        defer { state = .over }
        if case .waiting(let continuation) = state { return continuation }
        return nil
      }
      continuation?.resume(returning: result)
    }
  }
}
