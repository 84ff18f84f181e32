#if os(Linux)
internal import Threading
internal import Media

/// An attempt to connect to an X server on a thread of its own, since connecting cannot be interrupted.
final class X11ConnectionAttempt: Sendable {
  private enum State {
    case waiting
    case done(Result<X11Connection, VidiconError>)
    case abandoned
  }

  private let state = Monitor(State.waiting)

  /// Starts connecting.
  ///
  /// - Throws: ``VidiconError`` when the system can start no thread.
  init(_ display: X11Display, wake: WakePipe, source: String) throws(VidiconError) {
    let thread = WorkerThread(name: "screen connect")
    try thread.start { [state] _ in
      let result: Result<X11Connection, VidiconError>
      do throws(VidiconError) {
        result = .success(try X11Connection(display, wake: wake, source: source))
      } catch {
        result = .failure(error)
      }
      state.withLock { state in
        if case .waiting = state { state = .done(result) }
      }
      // Detaches the thread, since none waits for it.
      thread.stop()
    }
  }

  /// Stops waiting; a connection established later is closed.
  func abandon() {
    self.state.withLock { $0 = .abandoned }
  }

  /// Waits for the outcome; nil when the deadline has passed or the attempt was abandoned.
  func result(until deadline: MediaTime?) -> Result<X11Connection, VidiconError>? {
    let result = self.state.take(until: deadline) { state -> Result<X11Connection, VidiconError>?? in
      switch state {
      case .waiting: nil
      case .done(let result): .some(result)
      case .abandoned: .some(nil)
      }
    }
    self.abandon()
    return result ?? nil
  }
}
#endif
