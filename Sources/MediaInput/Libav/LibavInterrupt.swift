internal import CLibav
internal import Media
internal import Synchronization
internal import Threading

/// Ends calls of libavformat that wait for a network or a device: when that takes too long, or when the playback that
/// they belong to was stopped.
final class LibavInterrupt: Sendable {
  /// The number of the playback that is wanted; an older one is to end.
  let wantedPlayback = Atomic<Int>(0)
  /// The number of the playback that the calls belong to.
  let currentPlayback = Atomic<Int>(0)
  private let deadline = Atomic<Int64>(.max)

  /// To be called before each call that may wait.
  ///
  /// - Parameter limit: How long it may wait at most.
  func callBegins(limit: MediaDuration = .seconds(10)) {
    self.deadline.store((StreamClock.system.now() + limit).nanoseconds, ordering: .relaxed)
  }

  /// Ends the calls of now and all that follow, for good: where there is one playback only.
  func cancel() {
    self.wantedPlayback.store(-1, ordering: .relaxed)
  }

  /// Whether the playback was stopped.
  var isCancelled: Bool {
    self.wantedPlayback.load(ordering: .relaxed) != self.currentPlayback.load(ordering: .relaxed)
  }

  /// What libavformat asks while it waits; valid as long as this object.
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
