import Dispatch
import Libc
import Media
import Recording
import StreamControl

/// Handler of SIGUSR1, which pauses and resumes recordings.
struct PauseSignal: Sendable {
  private let signals: AsyncStream<Void>
  // Safe because the source is only kept alive.
  private nonisolated(unsafe) let source: any DispatchSourceSignal

  /// Replaces the signal's default action, which ends the program.
  init() {
    let (signals, continuation) = AsyncStream<Void>.makeStream()
    self.signals = signals
    signal(SIGUSR1, SIG_IGN)
    self.source = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .global())
    self.source.setEventHandler { continuation.yield() }
    self.source.resume()
  }

  /// At each signal, pauses running recordings and resumes paused ones, until the task is cancelled.
  ///
  /// - Parameter recorders: Returns the recorders at the time of a signal.
  func togglePauses(of recorders: @Sendable () -> [Recorder]) async {
    for await _ in self.signals {
      let recorders = recorders()
      if recorders.isEmpty { Terminal.warn("SIGUSR1 pauses a recording, and there is none; see --record") }
      for recorder in recorders {
        let control = RecordingControl(recorder)
        do throws(VidiconError) {
          try await control.perform(control.status().state == .paused ? .resume : .pause)
        } catch {
          Terminal.warn("\(error)")
        }
      }
    }
  }
}
