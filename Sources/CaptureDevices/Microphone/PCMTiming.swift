internal import Media

/// Capture time of the next sample of an audio device.
enum PCMPosition {
  /// Maximum age beyond that of the queued samples that is accepted: buffers of sound servers and wireless links.
  static let maximumLatency = MediaDuration.seconds(2)
  /// Maximum age of a device's timestamp that is accepted.
  static let maximumAge = MediaDuration.seconds(1)

  /// Combines the device's reports, as far as they are plausible.
  ///
  /// - Parameters:
  ///   - stamp: Time of the device's report; accepted up to ``maximumAge``.
  ///   - available: Number of samples ready to be read.
  ///   - delay: Age of the next sample in samples, including buffers inside the device.
  ///   - sampleRate: Samples per second.
  ///   - now: Time of the query.
  static func time(
    stamp: MediaTime, available: Int, delay: Int, sampleRate: Int, now: MediaTime
  ) -> MediaTime {
    let isPlausible = stamp <= now && now - stamp <= Self.maximumAge
    let rate = Int32(clamping: max(sampleRate, 1))
    let waiting = MediaDuration.ticks(Int64(max(available, 0)), timescale: rate)
    let reported = MediaDuration.ticks(Int64(delay), timescale: rate)
    let age = reported >= waiting && reported - waiting <= Self.maximumLatency ? reported : waiting
    return (isPlausible ? stamp : now) - age
  }
}

/// Distinguishes a device without a clock, which always has samples (ALSA's `null`, files), from one that a clock drives,
/// and paces the reads of the former. Pure: the time is an argument.
struct DevicePace {
  private let rate: Int32
  private let capacity: Double
  /// Number of samples that the device may deliver before it is faster than any clock.
  private var credit: Double
  private var last: MediaTime
  /// Whether the device has no clock of its own.
  private(set) var isUnpaced = false
  private var anchor: MediaTime
  private var count: Int64 = 0

  /// Maximum time by which a device without a clock may be behind before its timestamps restart.
  static let maximumLag = MediaDuration.milliseconds(200)

  /// Starts with a device that was started at `now`.
  ///
  /// - Parameters:
  ///   - rate: Samples per second.
  ///   - capacity: Size of the device's buffer in samples, which may all come at once after a pause.
  ///   - available: Number of samples ready at the start: a clock cannot have filled half a buffer by then.
  init(rate: Int, capacity: Int, available: Int, at now: MediaTime) {
    self.rate = Int32(clamping: max(rate, 1))
    self.capacity = Double(capacity)
    self.credit = Double(capacity)
    self.last = now
    self.anchor = now
    self.isUnpaced = available > 0 && available >= capacity / 2
  }

  /// Time of the next sample of a device without a clock.
  var time: MediaTime {
    self.anchor + .ticks(self.count, timescale: self.rate)
  }

  /// Records samples that were read.
  ///
  /// - Returns: Whether timestamps restart with the next sample: the device was found to have no clock, or is behind by more
  ///   than ``maximumLag``.
  mutating func advance(by count: Int, at now: MediaTime) -> Bool {
    if self.isUnpaced {
      self.count += Int64(count)
      guard now - self.time > Self.maximumLag else { return false }
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
