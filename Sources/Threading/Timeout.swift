/// Runs an operation with a time limit.
///
/// - Parameters:
///   - timeout: Maximum time the caller waits.
///   - operation: Not cancelled when the limit passes or the caller is cancelled: it runs to its end, and its result is
///     discarded.
/// - Returns: The operation's result; nil when it takes longer.
package func withTimeout<Success: Sendable>(
  _ timeout: Duration, _ operation: @escaping @Sendable () async -> Success
) async -> Success? {
  let task = Task { await operation() }
  return await task.result(within: timeout)?.get()
}

extension WorkerThread {
  /// Runs a blocking call on its own thread with a time limit.
  ///
  /// - Parameters:
  ///   - name: Name of the thread, at most 15 bytes on Linux.
  ///   - timeout: Maximum time the caller waits; the thread then finishes the call by itself, and its result is discarded.
  ///   - body: The blocking call.
  /// - Returns: The call's result; nil on timeout, or when no thread can be started.
  package static func run<Result: Sendable>(
    named name: String, timeout: Duration, _ body: @escaping @Sendable () -> Result
  ) async -> Result? {
    await withTimeout(timeout) { await WorkerThread.run(named: name, body) } ?? nil
  }
}

extension Task {
  /// Waits for the task's result, or for another task to end first.
  ///
  /// Does not cancel the task, and does not return early when the caller is cancelled.
  ///
  /// - Returns: The result; nil when `other` ended first.
  package func result(unless other: Task<Void, Never>) async -> Result<Success, Failure>? {
    let (results, continuation) = AsyncStream<Result<Success, Failure>?>.makeStream()
    Task<Void, Never> { continuation.yield(await self.result) }
    Task<Void, Never> {
      await other.value
      continuation.yield(nil)
    }
    // An unstructured task, since iterating an AsyncStream ends when the iterating task is cancelled.
    let first = Task<Result<Success, Failure>?, Never> {
      for await result in results { return result }
      return nil
    }
    return await first.value
  }

  /// Waits for the task's result with a time limit; like ``result(unless:)``.
  ///
  /// - Returns: The result; nil on timeout.
  package func result(within timeout: Duration) async -> Result<Success, Failure>? {
    // The sleep fails when the timer is cancelled because the result came first.
    let timer = Task<Void, Never> { try? await Task<Never, Never>.sleep(for: timeout) }
    defer { timer.cancel() }
    return await self.result(unless: timer)
  }
}
