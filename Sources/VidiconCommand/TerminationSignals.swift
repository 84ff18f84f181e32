import CSystemCalls
import Dispatch
import Libc
import Synchronization

/// Waits for Ctrl-C (SIGINT), for SIGTERM of a service manager, or for SIGHUP of a terminal that is closed. A second SIGINT or
/// SIGTERM ends the program at once. A program that has no terminal goes on after SIGHUP: there it is a supervisor's or a log
/// rotation's request to read files again, which ``onHangup(_:)`` meets.
struct TerminationSignals: Sendable {
  /// The signals of this process. Created early: an earlier signal ends the program.
  static let shared = TerminationSignals()

  /// The signals that end the program in order.
  private static let numbers = [SIGINT, SIGTERM, SIGHUP]

  /// Action at SIGHUP of others than a terminal; nil for a line.
  private static let hangupAction = Mutex<(@Sendable () -> Void)?>(nil)

  private let stream: AsyncStream<Void>
  // Safe because the sources are only kept alive.
  private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

  private init() {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    self.stream = stream
    let hasTerminal = Self.hasTerminal
    self.sources = Self.numbers.compactMap { number in
      let previous = signal(number, SIG_IGN)
      // A program that nohup has started outlives its terminal.
      // Safe because handlers are compared, not called.
      let isIgnored = unsafeBitCast(previous, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
      if number == SIGHUP, isIgnored { return nil }
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        if number == SIGHUP, !hasTerminal {
          if let action = Self.hangupAction.withLock({ $0 }) { return action() }
          Terminal.warn(
            "SIGHUP: goes on, since no terminal was closed; users are read whenever their file changes",
            priority: .notice)
          return
        }
        continuation.yield()
        // Restores the terminal now: a second signal ends the program at once.
        vidicon_keys_end()
        // Of a closed terminal the system and the shell both send SIGHUP.
        if number != SIGHUP { signal(number, SIG_DFL) }
      }
      source.resume()
      return source
    }
  }

  /// Sets what is done at SIGHUP where the program has no terminal, and SIGHUP was not ignored at its start.
  static func onHangup(_ action: @escaping @Sendable () -> Void) {
    Self.hangupAction.withLock { $0 = action }
  }

  /// Lets a write fail instead of ending the program: to a reader that has gone, and beyond the file size limit (ulimit -f), also of a
  /// log file.
  static func ignoreFailedWrites() {
    signal(SIGPIPE, SIG_IGN)
    signal(SIGXFSZ, SIG_IGN)
  }

  /// Whether the process has a controlling terminal, whatever its input and output are.
  private static var hasTerminal: Bool {
    let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard terminal >= 0 else { return false }
    close(terminal)
    return true
  }

  /// Waits for a signal or the task's cancellation; for one caller.
  func wait() async {
    for await _ in self.stream { return }
  }
}
