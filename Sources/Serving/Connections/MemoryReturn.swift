internal import CSystemCalls
package import Media
internal import Threading

/// Returns the memory of closed connections to the system, see ``MemoryReturnPolicy``, and that of code which only the start uses, on
/// a thread of its own.
package final class MemoryReturn: Sendable {
  /// Time between two looks at the number of connections.
  private static let period = MediaDuration.seconds(1)
  /// Time after which the start is over.
  private static let startDuration = MediaDuration.seconds(3)

  private let thread = WorkerThread(name: "free memory")
  private let registry: ConnectionRegistry

  /// - Parameter registry: The connections of all servers.
  package init(of registry: ConnectionRegistry) {
    self.registry = registry
  }

  /// Starts the thread; without one, memory stays with the allocator.
  package func start() {
    try? self.thread.start { [registry] signal in
      let clock = StreamClock.system
      guard signal.wait(until: clock.now() + Self.startDuration) else { return }
      vidicon_return_free_memory()
      vidicon_return_unused_code()
      var policy = MemoryReturnPolicy()
      while signal.wait(until: clock.now() + Self.period) {
        let peak = registry.takePeakCount()
        if policy.shouldReturn(count: registry.count, peak: peak, at: clock.now()) { vidicon_return_free_memory() }
      }
    }
  }

  /// Ends the thread, and waits until it has ended.
  package func stop() {
    self.thread.stop()
  }
}

/// Decides when free memory is returned to the system: when most of a crowd of connections has been closed, and once more
/// later, since what a connection used is freed some time after it no longer counts.
///
/// The C library keeps the memory of closed connections for later ones; after 10,000 of them that is some 200 MB. Returning
/// it takes the allocator's locks for some milliseconds, so that it is not done for few connections, and not often. Pure:
/// the time is an argument.
package struct MemoryReturnPolicy: Sendable {
  /// Minimum number of connections of a crowd: fewer free some megabytes only.
  static let minimumPeak = 256
  /// Minimum time between two returns.
  static let interval = MediaDuration.seconds(10)

  /// Maximum number of connections at a time since the last return.
  private var peak = 0
  private var lastReturn: MediaTime?
  /// Whether memory is to be returned once more.
  private var isRepeated = false

  /// A policy before the first connection.
  package init() {}

  /// Returns whether to return free memory now, and then counts on the caller to do so.
  ///
  /// - Parameters:
  ///   - count: Current number of connections.
  ///   - peak: Maximum number at a time since the last call.
  package mutating func shouldReturn(count: Int, peak: Int, at now: MediaTime) -> Bool {
    self.peak = max(self.peak, peak, count)
    if let lastReturn, now - lastReturn < Self.interval { return false }
    let hasCrowdGone = self.peak >= Self.minimumPeak && count <= self.peak / 2
    guard hasCrowdGone || self.isRepeated else { return false }
    self.isRepeated = hasCrowdGone
    self.lastReturn = now
    self.peak = count
    return true
  }
}
