import Media
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
    #expect(await withTimeout(.seconds(60)) { 7 } == 7)
  }

  @Test func `an operation that takes longer returns nil, and runs to its end`() async {
    let (gate, ended) = (Gate(), Monitor(false))
    let operation: @Sendable () async -> Bool = {
      await gate.wait()
      ended.withLock { $0 = !Task.isCancelled }
      return true
    }
    #expect(await withTimeout(.milliseconds(5), operation) == nil)
    #expect(ended.read { !$0 })
    gate.finish()
    #expect(ended.wait(until: StreamClock.system.now() + .seconds(300)) { $0 ? true : nil } == true)
  }

  @Test func `the result of a task is returned in time, its error included`() async throws {
    let value = Task<Int, any Error> { 3 }
    #expect(try await value.result(within: .seconds(60))?.get() == 3)
    let failing = Task<Int, any Error> { throw Failure() }
    let result = try #require(await failing.result(within: .seconds(60)))
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
      return await task.result(within: .seconds(60))
    }
    await Task.yield()
    gate.finish()
    #expect(await caller.value?.get() == 5)
    #expect(waiting.read { $0 })
  }
}
