import TestSupport
import Testing
import Threading

@Suite("Timeouts", .timeLimit(.minutes(5)))
struct TimeoutTests {
  private struct Failure: Error, Equatable {}

  /// An operation that ends when ``finish()`` is called, and not before.
  private struct Gate {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
      (self.stream, self.continuation) = AsyncStream<Void>.makeStream()
    }

    func finish() {
      self.continuation.finish()
    }

    func wait() async {
      for await _ in self.stream {}
    }
  }

  @Test func `an operation that ends in time returns its result`() async {
    #expect(await withTimeout(.seconds(300)) { 7 } == 7)
  }

  @Test func `an operation that takes longer returns nil, and runs to its end`() async throws {
    let (gate, ended) = (Gate(), Monitor(false))
    let operation: @Sendable () async -> Bool = {
      await gate.wait()
      ended.withLock { $0 = !Task.isCancelled }
      return true
    }
    #expect(await withTimeout(.milliseconds(5), operation) == nil)
    #expect(ended.read { !$0 })
    gate.finish()
    // Without holding the thread that the operation may need.
    try await eventually { ended.read { $0 } }
  }

  @Test func `the result of a task is returned in time, its error included`() async throws {
    let value = Task<Int, any Error> { 3 }
    #expect(try await value.result(within: .seconds(300))?.get() == 3)
    let failing = Task<Int, any Error> { throw Failure() }
    let result = try #require(await failing.result(within: .seconds(300)))
    #expect(throws: Failure()) { try result.get() }
  }

  @Test func `another task that ends first ends the wait, and the task is not cancelled`() async {
    let gate = Gate()
    let task = Task {
      await gate.wait()
      return !Task.isCancelled
    }
    #expect(await task.result(unless: Task {}) == nil)
    gate.finish()
    #expect(await task.value)
  }

  @Test func `a cancelled caller still waits for the result`() async {
    let gate = Gate()
    let task = Task {
      await gate.wait()
      return 5
    }
    let waiting = Monitor(false)
    let caller = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      waiting.withLock { $0 = true }
      return await task.result(within: .seconds(300))
    }
    await Task.yield()
    gate.finish()
    #expect(await caller.value?.get() == 5)
    #expect(waiting.read { $0 })
  }
}
