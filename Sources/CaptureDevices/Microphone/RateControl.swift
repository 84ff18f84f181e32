/// How much faster or slower than its nominal rate sound is resampled, so that it stays in step with the streams' clock
/// and nobody hears it.
///
/// The device's drift is made up for as it is known; what the sound is off by in spite of that is brought back over
/// about ten seconds. A change of pitch by 0.5% is a twelfth of a semitone, where trained ears begin to hear; in normal
/// operation it is a tenth of that, and it comes on slowly.
struct RateControl {
  /// The most by which the rate is changed.
  static let limit = 0.005
  /// The most of that which brings back what the sound is off by.
  static let correction = 0.0005
  /// The most by which it changes in a second.
  static let slew = 0.0002
  /// The part of what the sound is off by that is brought back in a second.
  static let gain = 0.1

  /// Samples to make beyond the nominal number, for each of these: 0.001 for a device that is 0.1% slow.
  private(set) var deviation = 0.0

  /// Sets the rate for a stretch of sound.
  ///
  /// - Parameters:
  ///   - drift: The device's, as ``DriftEstimator/drift``, as far as it is known.
  ///   - error: Seconds by which the sound that comes next is later than the time it is given.
  ///   - elapsed: Seconds since the last call.
  mutating func update(drift: Double, error: Double, elapsed: Double) {
    let correction = (error * Self.gain).clamped(to: Self.correction)
    let target = (drift + correction).clamped(to: Self.limit)
    self.deviation += (target - self.deviation).clamped(to: Self.slew * max(elapsed, 0))
  }
}

extension Double {
  /// The number itself, or the nearest one that is not farther from zero than a limit.
  fileprivate func clamped(to limit: Double) -> Double {
    min(max(self, -limit), limit)
  }
}
