internal import Media

/// Turns a device's times into those of the streams' clock, which the device's own should be already.
///
/// A time is believed when it is not in the future, not older than ``longestDelay``, and after the one before. In place
/// of others stands the time of arrival less the delay that believed ones had, so that a camera whose clock jumps for a
/// moment shows no jump.
struct CameraTimestamps {
  /// The longest that a picture takes from the sensor to here.
  static let longestDelay = MediaDuration.seconds(1)
  /// How far ahead of the clock a time may be, since devices round.
  private static let tolerance = MediaDuration.milliseconds(2)
  /// The least distance of two pictures.
  private static let step = MediaDuration.milliseconds(1)

  /// What pictures took lately, as a moving mean.
  private var delay = MediaDuration.zero
  private var last: MediaTime?

  /// The time of the next picture, later than the one before.
  ///
  /// - Parameters:
  ///   - nanoseconds: What the device says; nil when it does not say, or by another clock.
  ///   - now: When the picture arrived.
  mutating func time(of nanoseconds: Int64?, at now: MediaTime) -> MediaTime {
    var time = now - self.delay
    if let told = nanoseconds.map(MediaTime.init(nanoseconds:)), told <= now + Self.tolerance,
      told >= now - Self.longestDelay, self.last.map({ told > $0 }) ?? true
    {
      let isFirst = self.last == nil
      self.delay = isFirst ? now - told : self.delay + (now - told - self.delay) / 8
      time = told
    }
    if let last, time <= last { time = last + Self.step }
    self.last = time
    return time
  }
}
