internal import CLibav
internal import Media
internal import Synchronization

/// Ends calls of libavformat that wait for a network or a device: after 10 seconds without data, or when the playback
/// that they belong to was stopped.
final class FileInterrupt: Sendable {
  /// The number of the playback that is wanted; an older one is to end.
  let wantedPlayback = Atomic<Int>(0)
  /// The number of the playback that the calls belong to.
  let currentPlayback = Atomic<Int>(0)
  private let deadline = Atomic<Int64>(.max)

  /// To be called before each call that may wait.
  func callBegins() {
    self.deadline.store((StreamClock.system.now() + .seconds(10)).nanoseconds, ordering: .relaxed)
  }

  /// What libavformat asks while it waits; valid as long as this object.
  var callback: AVIOInterruptCB {
    AVIOInterruptCB(
      callback: { opaque in
        guard let opaque else { return 0 }
        return Unmanaged<FileInterrupt>.fromOpaque(opaque).takeUnretainedValue().isDue ? 1 : 0
      },
      opaque: Unmanaged.passUnretained(self).toOpaque())
  }

  private var isDue: Bool {
    self.wantedPlayback.load(ordering: .relaxed) != self.currentPlayback.load(ordering: .relaxed)
      || StreamClock.system.now().nanoseconds > self.deadline.load(ordering: .relaxed)
  }
}
