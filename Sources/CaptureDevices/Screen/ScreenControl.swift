internal import Media
internal import Synchronization
internal import Threading

/// How the capturer of a screen ends what its thread does, whatever that waits for.
final class ScreenControl: Sendable {
  private struct State {
    var isStopped = false
    var abandon: (@Sendable () -> Void)?
  }

  /// Ends waits for the X server.
  let wake: WakePipe
  private let state = Mutex(State())

  /// - Throws: ``VidiconError`` when there is no file descriptor left.
  init(source: String) throws(VidiconError) {
    self.wake = try WakePipe(source: source)
  }

  /// Whether ``stop()`` was called.
  var isStopped: Bool {
    self.state.withLock { $0.isStopped }
  }

  /// Sets what ``stop()`` does besides; it is done at once when that was called before.
  func onStop(_ abandon: (@Sendable () -> Void)?) {
    let isStopped = self.state.withLock { state in
      state.abandon = abandon
      return state.isStopped
    }
    if isStopped { abandon?() }
  }

  /// Ends everything; the thread returns soon after.
  func stop() {
    let abandon = self.state.withLock { state in
      state.isStopped = true
      return state.abandon
    }
    self.wake.stop()
    abandon?()
  }
}
