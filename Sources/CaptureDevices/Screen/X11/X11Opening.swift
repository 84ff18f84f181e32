#if os(Linux)
internal import Threading
internal import Media

/// A connection to an X server that is being made on a thread of its own, since nothing can interrupt that.
final class X11Opening: Sendable {
  private enum State {
    case waiting
    case done(Result<X11Connection, VidiconError>)
    case abandoned
  }

  private let state = Monitor(State.waiting)

  /// Begins to connect.
  ///
  /// - Throws: ``VidiconError`` when the system has no thread left.
  init(_ display: X11Display, wake: WakePipe, source: String) throws(VidiconError) {
    let thread = WorkerThread(name: "screen opening")
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
      // It has nobody who would wait for it.
      thread.stop()
    }
  }

  /// Gives up waiting; a connection that is made later is closed.
  func abandon() {
    self.state.withLock { $0 = .abandoned }
  }

  /// Waits for the outcome; nil when the time has passed or it was given up.
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
