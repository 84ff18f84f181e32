internal import Media

/// Tells a device that has sound at any time, such as ALSA's `null` and what reads files, from one that a clock drives,
/// and says when to read from the former.
struct DevicePace {
  private let rate: Int32
  private let capacity: Double
  /// Samples that the device may still give before it is faster than any clock.
  private var credit: Double
  private var last: MediaTime
  /// Whether the device has no clock of its own.
  private(set) var isUnpaced = false
  private var anchor: MediaTime
  private var count: Int64 = 0

  /// How far a device without a clock may be behind before its time begins anew.
  static let patience = MediaDuration.milliseconds(200)

  /// A device that was started just now.
  ///
  /// - Parameters:
  ///   - rate: Samples a second.
  ///   - capacity: Samples that its buffer holds, which may come at once after a pause.
  ///   - available: Samples that it has already: a clock cannot have filled half a buffer in no time.
  init(rate: Int, capacity: Int, available: Int, at now: MediaTime) {
    self.rate = Int32(clamping: max(rate, 1))
    self.capacity = Double(capacity)
    self.credit = Double(capacity)
    self.last = now
    self.anchor = now
    self.isUnpaced = available > 0 && available >= capacity / 2
  }

  /// When the next sample of a device without a clock is taken.
  var time: MediaTime {
    self.anchor + .ticks(self.count, timescale: self.rate)
  }

  /// Told of samples that were read.
  ///
  /// - Returns: Whether the time of what comes next does not follow from before: the device has turned out to be without
  ///   a clock, or is far behind.
  mutating func advance(by count: Int, at now: MediaTime) -> Bool {
    if self.isUnpaced {
      self.count += Int64(count)
      guard now - self.time > Self.patience else { return false }
    } else {
      let earned = max((now - self.last).seconds, 0) * Double(self.rate) * 1.02
      self.credit = min(self.credit + earned, self.capacity) - Double(count)
      self.last = now
      guard self.credit < -self.capacity else { return false }
      self.isUnpaced = true
    }
    (self.anchor, self.count) = (now, 0)
    return true
  }
}
