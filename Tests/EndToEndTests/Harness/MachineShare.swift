import Foundation
import TestSupport
import Testing

extension Tag {
  /// Starts a browser, a desktop player, or several programs: at most two such tests run at once.
  @Tag static var demanding: Self

  /// Starts a browser or a desktop player in the gate: one such test at a time, beside one that is demanding.
  @Tag static var desktop: Self

  /// Judges frame rate, pacing, or lost frames: runs after the tests above, at most two at once.
  @Tag static var pacing: Self

  /// Judges latency or jitter: runs last, one test at a time.
  @Tag static var timing: Self
}

/// Runs tests concurrently, each with a share of the machine, in three phases.
///
/// A test uses a fifth of two cores on average. Five tests without a tag run at once; then those tagged
/// ``Testing/Tag/pacing``; then those tagged ``Testing/Tag/timing``. The wait for a share precedes the body of the test,
/// so that the limits in it do not include the wait; the trait `.timeLimit` does.
///
/// A test that hangs ends the process with its name, since nothing else could end it.
struct MachineShare: SuiteTrait, TestTrait, TestScoping {
  /// Timeout of a tool or of the program, for one of a test that runs alone on a machine like those of its developers.
  ///
  /// That time is multiplied by the environment variable `VIDICON_TEST_TIMEOUT_FACTOR`, 3 without it; in runs that do not judge
  /// timing, as in the gate, the timeout is five minutes at least.
  static func timeout(_ limit: Duration) -> Duration {
    max(limit * Self.timeoutFactor, judgesTiming ? .zero : .seconds(WaitLimit.seconds))
  }

  private static let timeoutFactor =
    ProcessInfo.processInfo.environment["VIDICON_TEST_TIMEOUT_FACTOR"].flatMap { Int($0) } ?? 3

  private static let limiter = ShareLimiter()

  /// Time after which a test that has its share hangs: several times what any of the suite takes beside other work.
  let limit: Duration

  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    let share = Share(test.tags)
    await Self.limiter.acquire(share)
    let start = ContinuousClock.now
    let limit = self.limit
    let guardian = Task {
      try await Task.sleep(for: limit)
      // Safe because only a process of tests ends, with the name of the test.
      fatalError("the test hangs, after \(limit): \(test.name)")
    }
    defer { guardian.cancel() }
    // The durations that the test library reports include the wait for a share.
    defer { print("ran for \((ContinuousClock.now - start).formatted(.units(allowed: [.seconds]))): \(test.name)") }
    do {
      try await function()
    } catch {
      await Self.limiter.release(share)
      throw error
    }
    await Self.limiter.release(share)
  }
}

extension Trait where Self == MachineShare {
  static func machineShare(limit: Duration) -> Self { Self(limit: limit) }
}

/// Phase in which a test runs, and its share of the machine.
private struct Share {
  enum Phase: Int {
    case concurrent
    case pacing
    case timing
  }

  /// Sum of the units of all tests that run at once.
  static let capacity = 5

  let phase: Phase
  let units: Int

  init(_ tags: Set<Tag>) {
    if tags.contains(.timing) {
      (self.phase, self.units) = (.timing, Self.capacity)
    } else if tags.contains(.pacing) {
      (self.phase, self.units) = (.pacing, 2)
    } else {
      (self.phase, self.units) = (.concurrent, tags.contains(.desktop) ? 3 : tags.contains(.demanding) ? 2 : 1)
    }
  }
}

/// A counting semaphore whose callers acquire different numbers of units, and only together with callers of their phase.
///
/// A caller waits while callers of an earlier phase wait. Within a phase, a caller that fits is resumed before one that
/// waits longer and does not fit.
private actor ShareLimiter {
  private var available = Share.capacity
  private var phase = Share.Phase.concurrent
  private var waiters: [(share: Share, continuation: CheckedContinuation<Void, Never>)] = []

  func acquire(_ share: Share) async {
    await withCheckedContinuation { continuation in
      self.waiters.append((share, continuation))
      self.resumeWaiters()
    }
  }

  func release(_ share: Share) {
    self.available += share.units
    self.resumeWaiters()
  }

  private func resumeWaiters() {
    guard let first = self.waiters.map(\.share.phase).min(by: { $0.rawValue < $1.rawValue }) else { return }
    if self.available == Share.capacity { self.phase = first }
    guard self.phase == first else { return }
    while let index = self.waiters.firstIndex(where: { waiter in
      waiter.share.phase == self.phase && waiter.share.units <= self.available
    }) {
      let waiter = self.waiters.remove(at: index)
      self.available -= waiter.share.units
      waiter.continuation.resume()
    }
  }
}
