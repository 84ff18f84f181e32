package import Media
internal import Synchronization

/// A clock that stands unless it is moved.
package final class ManualClock: Sendable {
  private let time = Mutex(MediaTime.zero)

  package init() {}

  package var now: MediaTime { self.time.withLock { $0 } }

  package func advance(by duration: MediaDuration) { self.time.withLock { $0 = $0 + duration } }
}
