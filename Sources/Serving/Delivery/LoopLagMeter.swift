package import Media
package import NIOCore
internal import Synchronization

/// Measures the lag of event loops, whatever they do: one task for each loop and second, and the time by which it is late.
///
/// ``DeliveryQueue`` measures the lag of loops with viewers of pushed media. Loops that answer requests only have no queue.
package final class LoopLagMeter: Sendable {
  private struct Loop {
    var maximum = LagMaximum()
    /// Time of the next task; nil while nothing is measured.
    var due: MediaTime?
    var task: Scheduled<Void>?
  }

  /// Time between two tasks of a loop.
  package static let interval = MediaDuration.seconds(1)

  private let eventLoops: [any EventLoop]
  private let loops: Mutex<[Loop]>

  /// A meter that measures after ``start()``.
  package init(eventLoops: [any EventLoop]) {
    self.eventLoops = eventLoops
    self.loops = Mutex(Array(repeating: Loop(), count: eventLoops.count))
  }

  /// Starts to measure, until the meter is stopped.
  package func start() {
    self.loops.withLock { loops in
      for index in loops.indices { self.schedule(index, in: &loops) }
    }
  }

  /// Ends measuring; the lag is zero then.
  package func stop() {
    let tasks = self.loops.withLock { loops in
      defer { loops = Array(repeating: Loop(), count: loops.count) }
      return loops.compactMap(\.task)
    }
    for task in tasks { task.cancel() }
  }

  /// Maximum lag of all event loops in the last 10 to 20 s, that of a loop that stands still included; callable on any thread.
  package var maximum: MediaDuration {
    self.loops.withLock { loops in
      var maximum = MediaDuration.zero
      for index in loops.indices {
        guard let due = loops[index].due else { continue }
        let now = self.now(of: index)
        loops[index].maximum.record(max(.zero, now - due), at: now)
        maximum = max(maximum, loops[index].maximum.value(at: now))
      }
      return maximum
    }
  }

  private func now(of index: Int) -> MediaTime {
    MediaTime(nanoseconds: Int64(clamping: self.eventLoops[index].now.uptimeNanoseconds))
  }

  /// Schedules the next task of a loop, with the lock held.
  private func schedule(_ index: Int, in loops: inout [Loop]) {
    let due = self.now(of: index) + Self.interval
    loops[index].due = due
    loops[index].task = self.eventLoops[index].scheduleTask(in: .nanoseconds(Self.interval.nanoseconds)) {
      [weak self] in
      guard let self else { return }
      self.measure(index, due: due)
    }
  }

  /// Records by how much the task of a loop is late, and schedules the next, unless measuring has ended.
  private func measure(_ index: Int, due: MediaTime) {
    let now = self.now(of: index)
    self.loops.withLock { loops in
      guard loops[index].due == due else { return }
      loops[index].maximum.record(max(.zero, now - due), at: now)
      self.schedule(index, in: &loops)
    }
  }
}
