internal import Media
internal import Synchronization
internal import Threading

/// Cancels the operations of a screen capturer's thread, whatever they wait for.
final class ScreenCancellation: Sendable {
  private struct State {
    var isStopped = false
    var onStop: (@Sendable () -> Void)?
  }

  /// Interrupts waits for the X server.
  let wake: WakePipe
  private let state = Mutex(State())

  /// - Throws: ``VidiconError`` when the process has no file descriptor left.
  init(source: String) throws(VidiconError) {
    self.wake = try WakePipe(source: source)
  }

  /// Whether ``stop()`` was called.
  var isStopped: Bool {
    self.state.withLock { $0.isStopped }
  }

  /// Sets a closure that ``stop()`` calls in addition; it is called at once when stopped already.
  func onStop(_ body: (@Sendable () -> Void)?) {
    let isStopped = self.state.withLock { state in
      state.onStop = body
      return state.isStopped
    }
    if isStopped { body?() }
  }

  /// Interrupts all operations; the thread ends soon after.
  func stop() {
    let onStop = self.state.withLock { state in
      state.isStopped = true
      return state.onStop
    }
    self.wake.stop()
    onStop?()
  }
}
