internal import Synchronization

/// A question to devices, asked off the event loops, and once for all who want to know meanwhile: an answer takes its
/// time, and a broken device may never give one.
package final class SharedQuestion<Answer: Sendable>: Sendable {
  /// A thread that asks, and those whom it answers.
  private struct Round {
    var identifier: UInt64
    var numbers: [UInt64]
  }

  private struct State {
    var round: Round?
    /// Threads that nobody waits for any more.
    var abandoned = 0
    var waiting: [UInt64: CheckedContinuation<Answer?, Never>] = [:]
    var count: UInt64 = 0

    mutating func nextNumber() -> UInt64 {
      self.count += 1
      return self.count
    }
  }

  /// The most threads that may hang in a device; then nobody is answered until one of them is through.
  private static var mostAbandoned: Int { 2 }

  private let name: String
  private let limit: Duration
  private let state = Mutex(State())

  /// - Parameters:
  ///   - name: Of the thread.
  ///   - limit: How long anybody waits for an answer.
  package init(named name: String, within limit: Duration) {
    self.name = name
    self.limit = limit
  }

  /// An answer that is not older than the question; nil when it takes too long, or no thread can be started.
  ///
  /// - Parameter question: The same for all; may block.
  package func ask(_ question: @escaping @Sendable () -> Answer) async -> Answer? {
    let number = self.state.withLock { $0.nextNumber() }
    let patience = Task {
      try await Task.sleep(for: self.limit)
      self.giveUp(number, question)
    }
    defer { patience.cancel() }
    return await withCheckedContinuation { continuation in
      self.state.withLock { $0.waiting[number] = continuation }
      self.begin(question)
    }
  }

  /// Asks for all who wait, unless that happens already; those who come meanwhile are answered by the next time.
  private func begin(_ question: @escaping @Sendable () -> Answer) {
    let round = self.state.withLock { state -> Round? in
      guard state.round == nil, !state.waiting.isEmpty, state.abandoned < Self.mostAbandoned else { return nil }
      state.round = Round(identifier: state.nextNumber(), numbers: Array(state.waiting.keys))
      return state.round
    }
    guard let round else { return }
    let isStarted = WorkerThread.startDetached(named: self.name) {
      self.finish(round, with: question())
      self.begin(question)
    }
    if !isStarted { self.finish(round, with: nil) }
  }

  private func finish(_ round: Round, with answer: Answer?) {
    let answered = self.state.withLock { state in
      if state.round?.identifier == round.identifier { state.round = nil } else { state.abandoned -= 1 }
      return round.numbers.compactMap { state.waiting.removeValue(forKey: $0) }
    }
    for continuation in answered { continuation.resume(returning: answer) }
  }

  /// Sends one away who has waited long enough. If the thread was there as long as that, another one asks for the others.
  private func giveUp(_ number: UInt64, _ question: @escaping @Sendable () -> Answer) {
    let waiting = self.state.withLock { state in
      if state.round?.numbers.contains(number) == true {
        state.round = nil
        state.abandoned += 1
      }
      return state.waiting.removeValue(forKey: number)
    }
    waiting?.resume(returning: nil)
    self.begin(question)
  }
}
