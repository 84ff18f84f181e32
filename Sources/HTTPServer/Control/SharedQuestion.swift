internal import Streaming
internal import Synchronization

/// A question to devices, asked off the event loops, and once for all who want to know meanwhile: an answer takes its
/// time, and a broken device may never give one.
final class SharedQuestion<Answer: Sendable>: Sendable {
  private struct State {
    var isAsking = false
    var waiting: [UInt64: CheckedContinuation<Answer?, Never>] = [:]
    var count: UInt64 = 0
  }

  private let name: String
  private let limit: Duration
  private let state = Mutex(State())

  /// - Parameters:
  ///   - name: Of the thread.
  ///   - limit: How long anybody waits for an answer.
  init(named name: String, within limit: Duration) {
    self.name = name
    self.limit = limit
  }

  /// An answer that is not older than the question; nil when it takes too long.
  ///
  /// - Parameter question: The same for all; may block.
  func ask(_ question: @escaping @Sendable () -> Answer) async -> Answer? {
    let number = self.state.withLock { state in
      state.count += 1
      return state.count
    }
    let patience = Task {
      try await Task.sleep(for: self.limit)
      self.state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(returning: nil)
    }
    defer { patience.cancel() }
    return await withCheckedContinuation { continuation in
      self.state.withLock { $0.waiting[number] = continuation }
      self.begin(question)
    }
  }

  /// Asks for all who wait, unless that happens already; those who come meanwhile are answered by the next time.
  private func begin(_ question: @escaping @Sendable () -> Answer) {
    let numbers = self.state.withLock { state -> [UInt64] in
      guard !state.isAsking, !state.waiting.isEmpty else { return [] }
      state.isAsking = true
      return Array(state.waiting.keys)
    }
    guard !numbers.isEmpty else { return }
    WorkerThread(name: self.name) {
      let answer = question()
      let answered = self.state.withLock { state in
        state.isAsking = false
        return numbers.compactMap { state.waiting.removeValue(forKey: $0) }
      }
      for continuation in answered { continuation.resume(returning: answer) }
      self.begin(question)
    }.detach()
  }
}
