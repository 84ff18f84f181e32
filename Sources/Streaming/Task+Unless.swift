extension Task {
  /// What the task gives; nil when another one ends before, and not sooner when whoever waits is cancelled. It is not broken
  /// off: what cannot be, is left to itself.
  package func result(unless other: Task<Void, Never>) async -> Result<Success, Failure>? {
    let (results, continuation) = AsyncStream<Result<Success, Failure>?>.makeStream()
    Task<Void, Never> { continuation.yield(await self.result) }
    Task<Void, Never> {
      await other.value
      continuation.yield(nil)
    }
    // A task of its own, since a stream ends for one that is cancelled.
    let first = Task<Result<Success, Failure>?, Never> {
      for await result in results { return result }
      return nil
    }
    return await first.value
  }

  /// What the task gives; nil when it takes longer, as with ``result(unless:)``.
  package func result(within limit: Duration) async -> Result<Success, Failure>? {
    // It fails when it is cancelled, since nobody waits for it any more.
    let timer = Task<Void, Never> { try? await Task<Never, Never>.sleep(for: limit) }
    defer { timer.cancel() }
    return await self.result(unless: timer)
  }
}
