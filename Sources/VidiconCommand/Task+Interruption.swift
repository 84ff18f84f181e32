extension Task where Failure == any Error {
  /// What the task gives; nil when another one ends before.
  func value(unless other: Task<Void, Never>) async throws -> Success? {
    let (results, continuation) = AsyncStream<Result<Success, any Error>?>.makeStream()
    Task<Void, Never> { continuation.yield(await self.result) }
    Task<Void, Never> {
      await other.value
      continuation.yield(nil)
    }
    for await result in results { return try result?.get() }
    return nil
  }
}
