package import Media

/// The bounded queue between the threads of a stream and one event loop, with at most one wake-up at a time. Pure: `now` is an
/// argument.
///
/// When it is full, everything in it is dropped, and access units are dropped until the next keyframe; audio goes on. The
/// frames that are dropped are counted.
///
/// The event loop's lag is the time that deliveries wait here.
package struct DeliveryQueue<Packets: SharedMedia> {
  /// Duties of the sender after it has appended a delivery.
  package struct Outcome: Hashable {
    /// Whether the event loop must be woken up to take the queue's contents.
    package var needsWakeUp = false
    /// Whether everything was dropped, so that a keyframe is needed.
    package var needsKeyframe = false
    /// Number of dropped access units.
    package var droppedFrames = 0
  }

  /// Maximum number of deliveries: two seconds of 30 frames.
  package static var capacity: Int { 60 }
  /// Duration for which the maximum of the lag is kept, once or twice.
  private static var lagWindow: MediaDuration { .seconds(10) }

  private var deliveries: [(delivery: SharedDelivery<Packets>, time: MediaTime)] = []
  private var isWakeUpPending = false
  private var isDroppingToKeyframe = false
  /// Maximum lag in the current and the last window.
  private var lag = (current: MediaDuration.zero, last: MediaDuration.zero)
  private var windowStart = MediaTime.zero

  /// An empty queue.
  package init() {}

  /// Appends a delivery for the event loop.
  package mutating func append(_ delivery: SharedDelivery<Packets>, at now: MediaTime) -> Outcome {
    var outcome = Outcome()
    var delivery = delivery
    if self.deliveries.count >= Self.capacity {
      outcome.droppedFrames = self.deliveries.count { $0.delivery.video != nil }
      outcome.needsKeyframe = true
      self.deliveries.removeAll()
      self.isDroppingToKeyframe = true
    }
    if self.isDroppingToKeyframe, let video = delivery.video {
      if video.isKeyframe {
        self.isDroppingToKeyframe = false
      } else {
        outcome.droppedFrames += 1
        guard let audio = delivery.withoutVideo else { return outcome }
        delivery = audio
      }
    }
    self.deliveries.append((delivery, now))
    outcome.needsWakeUp = !self.isWakeUpPending
    self.isWakeUpPending = true
    return outcome
  }

  /// Removes all deliveries, on the event loop that was woken up.
  package mutating func takeAll(at now: MediaTime) -> [SharedDelivery<Packets>] {
    self.isWakeUpPending = false
    self.recordLag(at: now)
    defer { self.deliveries.removeAll(keepingCapacity: true) }
    return self.deliveries.map(\.delivery)
  }

  /// Maximum time that a delivery has waited, in the last 10 to 20 s; with those that wait now.
  package mutating func maximumLag(at now: MediaTime) -> MediaDuration {
    self.recordLag(at: now)
    return max(self.lag.current, self.lag.last)
  }

  private mutating func recordLag(at now: MediaTime) {
    if now - self.windowStart >= Self.lagWindow {
      self.lag.last = now - self.windowStart < Self.lagWindow * 2 ? self.lag.current : .zero
      self.lag.current = .zero
      self.windowStart = now
    }
    if let first = self.deliveries.first { self.lag.current = max(self.lag.current, now - first.time) }
  }
}
