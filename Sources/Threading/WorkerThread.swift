internal import CSystemCalls
internal import Libc
package import Media
internal import Synchronization

/// A thread for calls that block: devices, codecs, files.
///
/// An instance runs one body at a time, which is asked to end by a ``StopSignal``; ``run(named:_:)`` and
/// ``startDetached(named:_:)`` run a single call.
///
/// Capturers and recorders have one each, and start and stop it from any other thread:
///
/// ```swift
/// let thread = WorkerThread(name: "screen")
/// try thread.start { signal in while !signal.isStopped { … } }
/// thread.stop()             // signals, and waits for the end
/// ```
package final class WorkerThread: Sendable {
  // Safe because a thread's handle is an opaque value to everything but the thread library.
  private struct Run: @unchecked Sendable {
    let thread: pthread_t
    let signal: StopSignal
    /// Whether the body has returned.
    let ended: Monitor<Bool>
  }

  private let name: String
  private let run = Mutex<Run?>(nil)

  /// A thread that is not running.
  ///
  /// - Parameter name: Shown by debuggers and `top -H`; Linux keeps the first 15 bytes.
  package init(name: String) {
    self.name = name
  }

  deinit {
    self.stop()
  }

  /// Whether it is between ``start(_:)`` and ``stop(within:)``, even if the body has already returned.
  package var isStarted: Bool {
    self.run.withLock { $0 != nil }
  }

  /// Whether the caller runs on this thread.
  package var isCurrent: Bool {
    self.run.withLock { $0.map { pthread_equal(pthread_self(), $0.thread) != 0 } ?? false }
  }

  /// Runs a body on a new thread; does nothing when started.
  ///
  /// - Parameter body: Must return soon after the signal was given, and must not keep the owner of this object alive.
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/failed`` when the system can start no thread.
  package func start(_ body: @escaping @Sendable (StopSignal) -> Void) throws(VidiconError) {
    let isStarted = self.run.withLock { run in
      guard run == nil else { return true }
      let (signal, ended) = (StopSignal(), Monitor(false))
      let thread = Self.create(named: self.name) {
        body(signal)
        ended.withLock { $0 = true }
      }
      run = thread.map { Run(thread: $0, signal: signal, ended: ended) }
      return run != nil
    }
    guard isStarted else { throw .noThread(self.name) }
  }

  /// Gives the signal without waiting; ``stop(within:)`` or ``abandon()`` must follow.
  package func signalStop() {
    self.run.withLock { $0 }?.signal.stop()
  }

  /// Gives the signal and detaches the thread, for a body that may hang in a system call.
  package func abandon() {
    guard let run = self.run.withLock({ $0.take() }) else { return }
    run.signal.stop()
    pthread_detach(run.thread)
  }

  /// Gives the signal and waits for the body to return; does nothing when not started.
  ///
  /// Called on the thread itself, for example by a consumer that stops its capturer from within a callback, it does not
  /// wait: the thread ends as soon as the body has returned.
  ///
  /// - Parameter limit: Maximum time to wait; then the thread is detached, since it may hang in a driver. Nil to wait
  ///   without limit.
  package func stop(within limit: MediaDuration? = nil) {
    self.run.withLock { $0 }?.signal.stop()
    self.join(within: limit)
  }

  /// Waits for the body to return by itself, without giving the signal; otherwise like ``stop(within:)``.
  package func join(within limit: MediaDuration? = nil) {
    guard let run = self.run.withLock({ $0.take() }) else { return }
    let isCurrent = pthread_equal(pthread_self(), run.thread) != 0
    if isCurrent || !Self.hasEnded(run, within: limit) {
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

// MARK: Single calls

extension WorkerThread {
  /// Runs a body on a new detached thread.
  ///
  /// - Returns: False when the system can start no thread; the body is then not run.
  package static func startDetached(named name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
    guard let thread = self.create(named: name, body) else { return false }
    pthread_detach(thread)
    return true
  }

  /// Runs a blocking call on a new thread while the task waits.
  ///
  /// - Returns: Nil, without a call, when the system can start no thread.
  package static func run<Result: Sendable>(
    named name: String, _ body: @escaping @Sendable () -> Result
  ) async -> Result? {
    await withCheckedContinuation { (continuation: CheckedContinuation<Result?, Never>) in
      let isStarted = self.startDetached(named: name) { continuation.resume(returning: body()) }
      if !isStarted { continuation.resume(returning: nil) }
    }
  }
}

// MARK: pthreads

extension WorkerThread {
  private static func create(named name: String, _ body: @escaping @Sendable () -> Void) -> pthread_t? {
    let entry = Unmanaged.passRetained(ThreadEntry(name: name, body: body))
    #if canImport(Darwin)
    var thread: pthread_t?
    #else
    var thread = pthread_t()
    #endif
    let status = pthread_create(
      &thread, nil,
      { argument in
        runThread(argument)
        return nil
      }, entry.toOpaque())
    guard status == 0 else {
      entry.release()
      return nil
    }
    return thread
  }
}

/// A thread's name and body on their way to its entry function.
private final class ThreadEntry: Sendable {
  let name: String
  let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }
}

/// Entry function of every thread.
private func runThread(_ argument: UnsafeMutableRawPointer?) {
  // No trap: `create` passed the argument, which is optional on Linux only.
  let entry = Unmanaged<ThreadEntry>.fromOpaque(argument!).takeRetainedValue()
  vidicon_set_thread_name(entry.name)
  entry.body()
}
