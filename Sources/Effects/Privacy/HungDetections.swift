internal import Synchronization

/// Detection threads that were given up, and have not returned from their model. Effects may be replaced at any time, so that
/// their number is limited for all together: each keeps its stack, and a thread of the system.
final class HungDetections: Sendable {
  /// Hung detections of the effects of this process.
  static let ofProcess = HungDetections()

  /// Maximum number of sets of threads that hang, of at most four threads each.
  static let maximumCount = 8

  private let hung = Mutex<[DetectionThreads]>([])

  /// Adds threads that were given up; those that have returned are forgotten.
  func insert(_ threads: DetectionThreads) {
    self.hung.withLock { hung in
      hung.removeAll { !$0.isRunning }
      hung.append(threads)
    }
  }

  /// Whether no further threads are to be started.
  var isFull: Bool {
    self.hung.withLock { hung in
      hung.removeAll { !$0.isRunning }
      return hung.count >= Self.maximumCount
    }
  }
}
