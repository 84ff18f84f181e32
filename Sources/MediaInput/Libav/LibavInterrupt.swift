internal import CLibav
internal import Media
internal import Synchronization
internal import Threading

/// Interrupts blocking calls of libavformat at a deadline, or when the playback that they belong to was stopped.
final class LibavInterrupt: Sendable {
  /// Number of the current playback; calls of an older one are interrupted.
  let requestedPlayback = Atomic<Int>(0)
  /// Number of the playback that makes the calls.
  let currentPlayback = Atomic<Int>(0)
  private let deadline = Atomic<Int64>(.max)

  /// Sets the deadline of the next call; must precede each call that may block.
  ///
  /// - Parameter limit: Maximum duration of the call.
  func callBegins(limit: MediaDuration = .seconds(10)) {
    self.deadline.store((StreamClock.system.now() + limit).nanoseconds, ordering: .relaxed)
  }

  /// Interrupts the current call and all later ones; for objects with a single playback.
  func cancel() {
    self.requestedPlayback.store(-1, ordering: .relaxed)
  }

  /// Whether the playback was stopped.
  var isCancelled: Bool {
    self.requestedPlayback.load(ordering: .relaxed) != self.currentPlayback.load(ordering: .relaxed)
  }

  /// The callback that libavformat polls while it blocks; valid during the lifetime of this object.
  var callback: AVIOInterruptCB {
    AVIOInterruptCB(
      callback: { opaque in
        guard let opaque else { return 0 }
        return Unmanaged<LibavInterrupt>.fromOpaque(opaque).takeUnretainedValue().isDue ? 1 : 0
      },
      opaque: Unmanaged.passUnretained(self).toOpaque())
  }

  private var isDue: Bool {
    self.isCancelled || StreamClock.system.now().nanoseconds > self.deadline.load(ordering: .relaxed)
  }
}
