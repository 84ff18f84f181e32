internal import Synchronization

/// Counts what is done at the same time, up to a limit.
final class Turnstile: Sendable {
  private let free: Mutex<Int>

  init(most: Int) {
    self.free = Mutex(most)
  }

  /// Begins; false when there are as many already.
  func begin() -> Bool {
    self.free.withLock { free in
      guard free > 0 else { return false }
      free -= 1
      return true
    }
  }

  /// Ends what was begun.
  func end() {
    self.free.withLock { $0 += 1 }
  }
}
