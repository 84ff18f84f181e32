internal import Media
internal import Synchronization
internal import Threading

/// Asks devices one after the other, on a thread of its own, since one whose driver is broken may never answer: that one is
/// left behind with its thread, another thread asks the rest, and it is not asked again before it has answered.
final class DeviceSurvey<Answer: Sendable>: Sendable {
  private struct Walk {
    /// Of the device that is being asked; behind the last one at the end.
    var index = 0
    /// The number of the thread whose answers count.
    var thread = 0
    var answers: [Answer?]
  }

  private let name: String
  private let limit: MediaDuration
  /// Devices that have not answered, with the number of threads that wait for each.
  private let silent = Mutex<[String: Int]>([:])

  /// - Parameters:
  ///   - name: Of the threads; at most 15 bytes.
  ///   - limit: How long one device may take.
  init(named name: String, within limit: MediaDuration) {
    self.name = name
    self.limit = limit
  }

  /// Asks all devices; blocks until each has answered or had its time.
  ///
  /// - Parameter question: What one device is asked; may block for ever.
  /// - Returns: The answers in the order of the devices; nil of those that do not answer.
  func answers(of devices: [String], _ question: @escaping @Sendable (String) -> Answer) -> [Answer?] {
    let silent = self.silent.withLock { $0 }
    let asked = devices.indices.filter { silent[devices[$0]] == nil }
    let names = asked.map { devices[$0] }
    let walk = Monitor(Walk(answers: Array(repeating: nil, count: names.count)))
    var index = 0
    var isAsking = self.ask(names, walk, question)
    while isAsking, index < names.count {
      let next = walk.wait(until: StreamClock.system.now() + self.limit) { $0.index == index ? nil : $0.index }
      if let next {
        index = next
      } else if self.leave(names, walk, at: index) {
        index += 1
        isAsking = self.ask(names, walk, question)
      }
    }
    var answers = [Answer?](repeating: nil, count: devices.count)
    for (index, answer) in zip(asked, walk.withLock { $0.answers }) { answers[index] = answer }
    return answers
  }

  /// Leaves a device behind; false when it has answered just now.
  private func leave(_ names: [String], _ walk: Monitor<Walk>, at index: Int) -> Bool {
    walk.withLock { walk in
      guard walk.index == index else { return false }
      self.silent.withLock { $0[names[index], default: 0] += 1 }
      walk.index += 1
      walk.thread += 1
      return true
    }
  }

  /// Starts a thread that asks those who were not asked yet; false when there is none left.
  private func ask(_ names: [String], _ walk: Monitor<Walk>, _ question: @escaping @Sendable (String) -> Answer) -> Bool
  {
    let number = walk.withLock { $0.thread }
    let thread = WorkerThread(name: self.name)
    do throws(VidiconError) {
      try thread.start { _ in
        while let index = walk.withLock({ $0.thread == number && $0.index < names.count ? $0.index : nil }) {
          let answer = question(names[index])
          let isLate = walk.withLock { walk in
            guard walk.thread == number else { return true }
            walk.answers[index] = answer
            walk.index += 1
            return false
          }
          if isLate { self.handleLateAnswer(of: names[index]) }
        }
      }
    } catch {
      return false
    }
    thread.abandon()
    return true
  }

  private func handleLateAnswer(of name: String) {
    self.silent.withLock { silent in
      let count = (silent[name] ?? 1) - 1
      silent[name] = count == 0 ? nil : count
    }
  }
}
