internal import Media

/// Converts a device's capture times to times on the ``StreamClock``, on which V4L2 drivers should report them.
///
/// A device's time is accepted when it is not in the future, at most ``maximumLatency`` old, and later than the one before.
/// Others are replaced by the time of arrival less the mean latency of accepted ones, so that a clock that jumps for a
/// moment causes no jump.
struct CameraTimestamps {
  /// Maximum time from the sensor to the arrival of a frame.
  static let maximumLatency = MediaDuration.seconds(1)
  /// Maximum time by which a device's time may be ahead of the clock, for rounding.
  private static let tolerance = MediaDuration.milliseconds(2)
  /// Minimum distance between two frames.
  private static let minimumInterval = MediaDuration.milliseconds(1)

  /// Moving mean of the latency of accepted times, with a weight of 1/8 for the newest.
  private var latency = MediaDuration.zero
  private var last: MediaTime?

  /// The time of the next frame, later than that of the frame before.
  ///
  /// - Parameters:
  ///   - nanoseconds: Capture time reported by the device; nil without one, or on another clock.
  ///   - now: Time of arrival.
  mutating func time(of nanoseconds: Int64?, at now: MediaTime) -> MediaTime {
    var time = now - self.latency
    if let reported = nanoseconds.map(MediaTime.init(nanoseconds:)), reported <= now + Self.tolerance,
      reported >= now - Self.maximumLatency, self.last.map({ reported > $0 }) ?? true
    {
      let isFirst = self.last == nil
      self.latency = isFirst ? now - reported : self.latency + (now - reported - self.latency) / 8
      time = reported
    }
    if let last, time <= last { time = last + Self.minimumInterval }
    self.last = time
    return time
  }
}

/// Counts the frames that a camera lost, from the sequence numbers of its buffers.
struct CameraSequence {
  /// Maximum number of lost frames in a row; a larger step is a driver that restarted its count or does not count.
  static let maximumMissing: UInt32 = 120

  private var last: UInt32?

  /// Number of frames missing between the previous one and this one.
  mutating func missing(before number: UInt32) -> Int {
    defer { self.last = number }
    guard let last else { return 0 }
    let missing = number &- last &- 1
    return missing <= Self.maximumMissing ? Int(missing) : 0
  }
}
