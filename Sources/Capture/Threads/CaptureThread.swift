internal import CCapture
package import Media
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// The thread of a capturer: what ``VideoCapturer/start(consumer:)`` and ``VideoCapturer/stop()`` ask for, whatever it
/// does in between.
package final class CaptureThread: Sendable {
  // Safe because a thread's handle is a plain value to everyone but the thread library.
  private struct Run: @unchecked Sendable {
    let thread: pthread_t
    let signal: StopSignal
    /// Whether the body has returned.
    let ended: Monitor<Bool>
  }

  private final class Body: Sendable {
    let name: String
    let run: @Sendable () -> Void

    init(name: String, run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }

  private let name: String
  private let run = Mutex<Run?>(nil)

  /// A thread that does not run yet.
  ///
  /// - Parameter name: What debuggers and `top -H` show: Linux keeps the first 15 bytes.
  package init(name: String) {
    self.name = name
  }

  deinit {
    self.stop()
  }

  /// Whether it is between ``start(_:)`` and ``stop()``, no matter whether the body has returned by itself.
  package var isStarted: Bool {
    self.run.withLock { $0 != nil }
  }

  /// Whether the caller runs on this thread.
  package var isCurrent: Bool {
    self.run.withLock { $0.map { pthread_equal(pthread_self(), $0.thread) != 0 } ?? false }
  }

  /// Runs a body on a new thread; without effect when started.
  ///
  /// - Parameter body: It is to return soon after the signal was given, and not to keep the owner of this object alive.
  /// - Throws: ``CaptureError`` when the system has no thread left.
  package func start(_ body: @escaping @Sendable (StopSignal) -> Void) throws(CaptureError) {
    let status: Int32 = self.run.withLock { run in
      guard run == nil else { return 0 }
      let (signal, ended) = (StopSignal(), Monitor(false))
      let box = Unmanaged.passRetained(
        Body(name: self.name) {
          body(signal)
          ended.withLock { $0 = true }
        })
      #if canImport(Darwin)
      var thread: pthread_t?
      #else
      var thread = pthread_t()
      #endif
      let status = pthread_create(
        &thread, nil,
        { argument in
          let body = Unmanaged<Body>.fromOpaque(unwrapped(argument)).takeRetainedValue()
          vidicon_set_thread_name(body.name)
          body.run()
          return nil
        }, box.toOpaque())
      guard status == 0 else {
        box.release()
        return status
      }
      #if canImport(Darwin)
      guard let thread else { return EAGAIN }
      #endif
      run = Run(thread: thread, signal: signal, ended: ended)
      return 0
    }
    guard status == 0 else {
      throw CaptureError(
        .failed, source: self.name, cause: "no thread can be started (\(systemMessage(status)))",
        nextStep: "end other programs or raise the limit of processes (ulimit -u)")
    }
  }

  /// Gives the signal and does not wait; ``stop()`` or ``abandon()`` must follow.
  package func signalStop() {
    self.run.withLock { $0 }?.signal.stop()
  }

  /// Gives the signal and lets the body end by itself: where it may hang in a call that nothing ends.
  package func abandon() {
    guard let run = self.run.withLock({ $0.take() }) else { return }
    run.signal.stop()
    pthread_detach(run.thread)
  }

  /// Gives the signal and waits for the body to return; without effect when not started.
  ///
  /// Called by the body itself, for one by a consumer that stops its capturer while it takes a frame, it does not wait:
  /// the thread ends as soon as the body has returned.
  ///
  /// - Parameter limit: How long to wait at most; after that the thread is left to itself, for one that hangs in a
  ///   device's driver. Nil to wait for as long as it takes.
  package func stop(within limit: MediaDuration? = nil) {
    guard let run = self.run.withLock({ $0.take() }) else { return }
    run.signal.stop()
    let isOwn = pthread_equal(pthread_self(), run.thread) != 0
    if isOwn || !Self.hasEnded(run, within: limit) {
      pthread_detach(run.thread)
    } else {
      pthread_join(run.thread, nil)
    }
  }

  private static func hasEnded(_ run: Run, within limit: MediaDuration?) -> Bool {
    guard let limit else { return true }
    return run.ended.wait(until: StreamClock.system.now() + limit) { $0 ? true : nil } ?? false
  }
}

/// The argument of a thread's entry, which is optional on Linux only.
private func unwrapped(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer {
  // It was passed by `start(_:)`, which has one.
  pointer!
}

/// What the system says to an error number.
func systemMessage(_ number: Int32) -> String {
  String(cString: strerror(number))
}
