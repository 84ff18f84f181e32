internal import Streaming

/// Waits for what may never come, and not for ever.
enum Patience {
  /// Runs a blocking call on a thread of its own.
  ///
  /// - Returns: Its result; nil when no thread can be started, or when it takes longer than the limit: then it goes on by
  ///   itself, and its result is let go.
  static func run<Result: Sendable>(
    named name: String, within limit: Duration, _ body: @escaping @Sendable () -> Result
  ) async -> Result? {
    let call = Task { await WorkerThread.run(named: name, body) }
    switch await call.result(within: limit) {
    case .success(let result?): return result
    case nil, .success(nil): return nil
    }
  }
}
