package import Authentication
package import Media
package import NIOPosix
internal import Synchronization
internal import Threading

/// Compares passwords with scrypt hashes off the event loops, in the order and within the bounds of
/// ``PasswordCheckQueue``; shared by all protocols.
///
/// Before a comparison runs, the client's delay is looked up again: guesses that were sent together wait for each other's
/// failure. Results are remembered in ``AccessControl``.
package final class PasswordChecker: Sendable {
  /// Result of a request for a comparison.
  package enum Outcome: Hashable, Sendable {
    /// The comparison was made; its result is known to ``AccessControl``.
    case compared
    /// No comparison was made; the client can try again after this time.
    case refused(MediaDuration)
  }

  /// Time after which a refused client can try again: the comparisons that wait are done.
  static let retryDelay = MediaDuration.seconds(1)

  private struct State {
    var queue = PasswordCheckQueue()
    var completions: [PasswordCheckQueue.Ticket: @Sendable (Outcome) -> Void] = [:]
  }

  private let access: AccessControl
  private let threads: NIOThreadPool
  private let lastTicket = Atomic<PasswordCheckQueue.Ticket>(0)
  private let state = Mutex(State())

  /// - Parameters:
  ///   - access: Knows delays and results.
  ///   - threads: Runs the comparisons, at most ``PasswordCheckQueue/maximumRunning`` at a time.
  package init(access: AccessControl, threads: NIOThreadPool = .singleton) {
    self.access = access
    self.threads = threads
  }

  /// Returns a number that no other login has, for ``submit(_:ticket:completion:)`` and ``cancel(_:)``.
  package func makeTicket() -> PasswordCheckQueue.Ticket {
    self.lastTicket.add(1, ordering: .relaxed).newValue
  }

  /// Compares, or refuses to.
  ///
  /// - Parameters:
  ///   - ticket: A number of ``makeTicket()``, for ``cancel(_:)``.
  ///   - completion: Called once, on any thread, possibly before this method returns.
  package func submit(
    _ check: PasswordCheck, ticket: PasswordCheckQueue.Ticket, completion: @escaping @Sendable (Outcome) -> Void
  ) {
    let isAdded = self.state.withLock { state in
      guard state.queue.add(check, ticket: ticket) else { return false }
      state.completions[ticket] = completion
      return true
    }
    guard isAdded else { return completion(.refused(Self.retryDelay)) }
    self.startNext()
  }

  /// Refuses a login that waits, since its client has gone; without effect for one that runs.
  package func cancel(_ ticket: PasswordCheckQueue.Ticket) {
    let completion = self.state.withLock { state in
      state.queue.cancel(ticket) ? state.completions.removeValue(forKey: ticket) : nil
    }
    completion?(.refused(Self.retryDelay))
  }

  /// Compares, or refuses to; the cancellation of the task cancels a login that waits.
  package func run(_ check: PasswordCheck) async -> Outcome {
    let ticket = self.makeTicket()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        self.submit(check, ticket: ticket) { continuation.resume(returning: $0) }
        // The task may have been cancelled before the login was added.
        if Task.isCancelled { self.cancel(ticket) }
      }
    } onCancel: {
      self.cancel(ticket)
    }
  }

  private func startNext() {
    while let job = self.state.withLock({ $0.queue.next() }) {
      self.threads.submit { [self] state in
        // Not active: the server has stopped.
        let outcome = state == .active ? self.compare(job.check) : .refused(Self.retryDelay)
        let completions = self.state.withLock { state in
          state.queue.finish(job).compactMap { state.completions.removeValue(forKey: $0) }
        }
        for completion in completions { completion(outcome) }
        self.startNext()
      }
    }
  }

  private func compare(_ check: PasswordCheck) -> Outcome {
    switch self.access.standing(of: check, now: StreamClock.system.now()) {
    case .done: return .compared
    case .throttled(let delay): return .refused(delay)
    case .needed:
      self.access.remember(check, isRight: check.run())
      return .compared
    }
  }
}
