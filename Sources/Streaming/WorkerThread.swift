internal import CCapture

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// A thread of its own, for calls that block: devices, codecs, joins.
package struct WorkerThread: Sendable {
  private final class Start {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }

  #if canImport(Darwin)
  private nonisolated(unsafe) let thread: pthread_t  // Safe because it is only handed back to pthread_join.
  #else
  private let thread: pthread_t
  #endif

  /// Starts a thread; nil when the system has none left, and then the body is not run.
  ///
  /// - Parameters:
  ///   - name: For debuggers and `top -H`; at most 15 bytes.
  ///   - body: What it does; it must end, and ``join()`` must be called once.
  package init?(name: String, body: @escaping @Sendable () -> Void) {
    guard let thread = Self.create(name: name, body: body) else { return nil }
    self.thread = thread
  }

  /// Starts a thread that ends by itself, for what can do without.
  ///
  /// - Returns: Whether the system had one left.
  package static func startDetached(named name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
    guard let thread = Self.create(name: name, body: body) else { return false }
    pthread_detach(thread)
    return true
  }

  private static func create(name: String, body: @escaping @Sendable () -> Void) -> pthread_t? {
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    #if canImport(Darwin)
    var thread: pthread_t?
    #else
    var thread = pthread_t()
    #endif
    guard pthread_create(&thread, nil, { Self.main($0) }, start.toOpaque()) == 0 else {
      start.release()
      return nil
    }
    return thread
  }

  private static func main(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    // No trap: the argument is what `init` passed.
    let start = Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
    vidicon_set_thread_name(start.name)
    start.body()
    return nil
  }

  /// Waits until the thread has ended.
  package func join() {
    pthread_join(self.thread, nil)
  }

  /// Runs a blocking call on a thread of its own while the task waits; nil, without a call, when the system has no thread
  /// left.
  package static func run<Result: Sendable>(
    named name: String, _ body: @escaping @Sendable () -> Result
  ) async -> Result? {
    await withCheckedContinuation { (continuation: CheckedContinuation<Result?, Never>) in
      let isStarted = self.startDetached(named: name) { continuation.resume(returning: body()) }
      if !isStarted { continuation.resume(returning: nil) }
    }
  }
}
