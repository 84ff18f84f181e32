internal import Synchronization

/// Detection threads that were given up, and have not returned from their model. Effects may be replaced at any time, so that
/// their number is limited for all together: each keeps its stack, and a thread of the system.
///
/// While any hang, those that were started and have returned from no model yet count as well: the detectors of many streams, which
/// are started at once, may all hang. Beyond the limit are only those that had returned before.
final class HungDetections: Sendable {
  /// Hung detections of the effects of this process.
  static let ofProcess = HungDetections()

  /// Maximum number of sets of threads that hang, of at most four threads each.
  static let maximumCount = 8

  private struct State {
    var hung: [DetectionThreads] = []
    /// Threads that may turn out to hang: no model has returned.
    var unproven: [DetectionThreads] = []
    /// Number of sets of threads that are being made.
    var starting = 0

    /// Forgets threads that have returned.
    mutating func update() {
      self.hung.removeAll { !$0.isRunning }
      self.unproven.removeAll { !$0.isUnproven }
    }
  }

  private let state = Mutex(State())

  /// Starts threads, unless too many hang, or may.
  ///
  /// - Parameter make: Starts them; called without a lock, since it reads models.
  /// - Returns: Nil where no further threads are to be started.
  func start(_ make: () -> DetectionThreads) -> DetectionThreads? {
    let mayStart = self.state.withLock { state in
      state.update()
      let count = state.hung.count + state.unproven.count + state.starting
      guard state.hung.isEmpty || count < Self.maximumCount else { return false }
      state.starting += 1
      return true
    }
    guard mayStart else { return nil }
    let threads = make()
    self.state.withLock { state in
      state.starting -= 1
      state.unproven.append(threads)
    }
    return threads
  }

  /// Adds threads that were given up.
  func insert(_ threads: DetectionThreads) {
    self.state.withLock { state in
      state.update()
      // Until this moment they have counted as unproven.
      state.unproven.removeAll { $0 === threads }
      state.hung.append(threads)
    }
  }

  /// Whether no further threads are to be started, since that many hang.
  var isFull: Bool {
    self.state.withLock { state in
      state.update()
      return state.hung.count >= Self.maximumCount
    }
  }
}
