import CTerminal
import Dispatch

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Waits for Ctrl-C (SIGINT), or for SIGTERM of a service manager. A second signal ends the program at once.
struct TerminationSignals: Sendable {
  /// The signals of this process. Created early: an earlier signal ends the program.
  static let shared = TerminationSignals()

  private let stream: AsyncStream<Void>
  // Safe because the sources are only kept alive.
  private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

  private init() {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    self.stream = stream
    self.sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        continuation.yield()
        // Restores the terminal now: a second signal ends the program at once.
        vidicon_keys_end()
        signal(number, SIG_DFL)
      }
      source.resume()
      return source
    }
    signal(SIGPIPE, SIG_IGN)
  }

  /// Waits for a signal or the task's cancellation; for one caller.
  func wait() async {
    for await _ in self.stream { return }
  }
}
