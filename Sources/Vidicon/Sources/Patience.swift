internal import Streaming
internal import Synchronization

/// Waits for calls that block, and not for ever.
enum Patience {
  /// Runs a blocking call on a thread of its own.
  ///
  /// - Returns: Its result; nil when it takes longer than the limit: then it goes on by itself, and its result is let go.
  static func run<Result: Sendable>(
    named name: String, within limit: Duration, _ body: @escaping @Sendable () -> Result
  ) async -> Result? {
    let waiting = Waiting<Result>()
    let timer = Task {
      try await Task.sleep(for: limit)
      waiting.resume(returning: nil)
    }
    defer { timer.cancel() }
    return await withCheckedContinuation { continuation in
      waiting.wait(continuation)
      WorkerThread(name: name) { waiting.resume(returning: body()) }.detach()
    }
  }

  /// A continuation that is resumed by whoever comes first.
  private final class Waiting<Result: Sendable>: Sendable {
    private let continuation = Mutex<CheckedContinuation<Result?, Never>?>(nil)

    func wait(_ continuation: CheckedContinuation<Result?, Never>) {
      self.continuation.withLock { $0 = continuation }
    }

    func resume(returning result: Result?) {
      self.continuation.withLock { $0.take() }?.resume(returning: result)
    }
  }
}
