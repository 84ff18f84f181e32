package import Media

/// The bounded queue between the threads of a stream and one event loop, with at most one wake-up at a time. Pure: `now` is an
/// argument.
///
/// When it is full, everything in it is dropped, and access units are dropped until the next keyframe; audio goes on. The
/// frames that are dropped are counted.
///
/// The event loop's lag is the time that deliveries wait here.
///
/// ``ViewerGroup`` has one behind a lock: the encoder's threads append, its event loop takes when it was woken up:
///
/// ```swift
/// let outcome = queue.withLock { $0.append(delivery, at: now) }
/// if outcome.needsWakeUp { eventLoop.execute { … } }              // there:
/// let (deliveries, hasMore) = queue.withLock { $0.take(at: now) }
/// ```
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
  /// Maximum number of deliveries that are taken at once, so that the event loop serves its sockets in between.
  package static var maximumTaken: Int { 4 }

  private var deliveries: [(delivery: SharedDelivery<Packets>, time: MediaTime)] = []
  private var isWakeUpPending = false
  private var isDroppingToKeyframe = false
  private var lag = LagMaximum()

  /// Creates a queue without deliveries.
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

  /// Removes the oldest deliveries, at most ``maximumTaken``, on the event loop that was woken up.
  ///
  /// - Returns: The deliveries, and whether others are left, which are to be taken without another wake-up.
  package mutating func take(at now: MediaTime) -> (deliveries: [SharedDelivery<Packets>], hasMore: Bool) {
    self.recordLag(at: now)
    let taken = self.deliveries.prefix(Self.maximumTaken).map(\.delivery)
    if taken.count == self.deliveries.count {
      self.deliveries.removeAll(keepingCapacity: true)
    } else {
      self.deliveries.removeFirst(taken.count)
    }
    self.isWakeUpPending = !self.deliveries.isEmpty
    return (taken, self.isWakeUpPending)
  }

  /// Maximum time that a delivery has waited, in the last 10 to 20 s; with those that wait now.
  package mutating func maximumLag(at now: MediaTime) -> MediaDuration {
    self.recordLag(at: now)
    return self.lag.value(at: now)
  }

  private mutating func recordLag(at now: MediaTime) {
    if let first = self.deliveries.first { self.lag.record(now - first.time, at: now) }
  }
}
