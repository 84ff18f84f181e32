import CTerminal
import Dispatch

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Waits for Ctrl-C (SIGINT), or for SIGTERM as service managers send it. A second one ends the program at once.
struct TerminationSignals: Sendable {
  /// Those of this process; made as early as can be, since a signal before that ends it.
  static let shared = TerminationSignals()

  private let stream: AsyncStream<Void>
  // Safe because they are only kept alive.
  private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

  private init() {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    self.stream = stream
    self.sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        continuation.yield()
        // The next one may come before anything else is done.
        vidicon_keys_end()
        signal(number, SIG_DFL)
      }
      source.resume()
      return source
    }
    signal(SIGPIPE, SIG_IGN)
  }

  /// Returns when one has come, or the task is cancelled; to be called once.
  func wait() async {
    for await _ in self.stream { return }
  }
}
