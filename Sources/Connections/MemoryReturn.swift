internal import CThreading
internal import Media
internal import Threading

/// Returns the memory of closed connections to the system, see ``MemoryReturnPolicy``, on a thread of its own.
package final class MemoryReturn: Sendable {
  /// Time between two looks at the number of connections.
  private static let period = MediaDuration.seconds(1)

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
      var policy = MemoryReturnPolicy()
      while signal.wait(until: clock.now() + Self.period) {
        let peak = registry.takePeakCount()
        if policy.shouldReturn(count: registry.count, peak: peak, at: clock.now()) { vidicon_return_free_memory() }
      }
    }
  }

  /// Ends the thread.
  package func stop() {
    self.thread.stop()
  }
}
