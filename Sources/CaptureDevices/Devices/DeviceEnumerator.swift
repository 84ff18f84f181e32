internal import Media
internal import Synchronization
internal import Threading

/// Queries devices one after the other on a worker thread, with a timeout for each.
///
/// A broken driver may never return. The thread of a device that exceeds the timeout is abandoned, another thread queries
/// the remaining devices, and the device is skipped in later enumerations until its query has returned.
final class DeviceEnumerator<Output: Sendable>: Sendable {
  private struct Progress {
    /// Index of the device being queried; the number of devices at the end.
    var index = 0
    /// Number of the current thread; results of earlier ones are discarded.
    var thread = 0
    var results: [Output?]
  }

  private let threadName: String
  private let timeout: MediaDuration
  /// Number of abandoned threads of each device whose query has not returned.
  private let unresponsive = Mutex<[String: Int]>([:])

  /// - Parameters:
  ///   - threadName: Name of the worker threads, at most 15 bytes on Linux.
  ///   - timeout: Maximum time for one device.
  init(threadName: String, timeout: MediaDuration) {
    self.threadName = threadName
    self.timeout = timeout
  }

  /// Queries all devices; blocks until each has responded or exceeded the timeout.
  ///
  /// - Parameter query: The query of one device; may block without limit.
  /// - Returns: The results in the order of the devices; nil for devices that do not respond.
  func results(for devices: [String], _ query: @escaping @Sendable (String) -> Output) -> [Output?] {
    let unresponsive = self.unresponsive.withLock { $0 }
    let queried = devices.indices.filter { unresponsive[devices[$0]] == nil }
    let names = queried.map { devices[$0] }
    let progress = Monitor(Progress(results: Array(repeating: nil, count: names.count)))
    var index = 0
    var isRunning = self.startThread(names, progress, query)
    while isRunning, index < names.count {
      let next = progress.wait(until: StreamClock.system.now() + self.timeout) { $0.index == index ? nil : $0.index }
      if let next {
        index = next
      } else if self.skip(names, progress, at: index) {
        index += 1
        isRunning = self.startThread(names, progress, query)
      }
    }
    var results = [Output?](repeating: nil, count: devices.count)
    for (index, result) in zip(queried, progress.read { $0.results }) { results[index] = result }
    return results
  }

  /// Abandons the current thread and its device; false when the device has just responded.
  private func skip(_ names: [String], _ progress: Monitor<Progress>, at index: Int) -> Bool {
    progress.withLock { progress in
      guard progress.index == index else { return false }
      self.unresponsive.withLock { $0[names[index], default: 0] += 1 }
      progress.index += 1
      progress.thread += 1
      return true
    }
  }

  /// Starts a thread that queries the remaining devices; false when the system can start none.
  private func startThread(
    _ names: [String], _ progress: Monitor<Progress>, _ query: @escaping @Sendable (String) -> Output
  ) -> Bool {
    let number = progress.read { $0.thread }
    return WorkerThread.startDetached(named: self.threadName) {
      while let index = progress.read({ $0.thread == number && $0.index < names.count ? $0.index : nil }) {
        let result = query(names[index])
        let isLate = progress.withLock { progress in
          guard progress.thread == number else { return true }
          progress.results[index] = result
          progress.index += 1
          return false
        }
        if isLate { self.handleLateResult(of: names[index]) }
      }
    }
  }

  private func handleLateResult(of name: String) {
    self.unresponsive.withLock { unresponsive in
      let count = (unresponsive[name] ?? 1) - 1
      unresponsive[name] = count == 0 ? nil : count
    }
  }
}
