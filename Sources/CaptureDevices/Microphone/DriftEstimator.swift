/// Estimates the rate of an audio device's clock relative to the ``StreamClock`` from timestamps with jitter.
///
/// The device counts samples; each block's timestamp gives, with some error, the capture time of its first sample. A line is
/// fitted through these points by least squares, with a memory that expands up to ``memory`` and fades from then on: the
/// expanding-memory polynomial filter of first degree (Morrison, Introduction to Sequential Smoothing and Prediction, 1969,
/// §9). It is fed with the median of each ``window``, which suppresses outliers as long as they are the minority.
///
/// All times are in seconds: a position is the device's sample count divided by its nominal rate, a time is the clock's.
struct DriftEstimator {
  /// Duration of the device's time over which a median is formed.
  static let window = 0.1
  /// Number of windows that the line remembers: a minute. With a jitter of 5 ms its slope is then accurate to about 10⁻⁶.
  static let memory = 600
  /// Maximum distance of a window from the line; windows further off are outliers.
  static let tolerance = 0.025
  /// Limits of the slope: no crystal is off by 2%.
  static let driftRange = -0.02...0.02

  /// Seconds of the clock beyond the device's own, per second: 0.001 for a device that is 0.1% slow.
  private(set) var drift = 0.0
  /// Number of windows in the line, up to ``memory``.
  private(set) var windows = 0

  /// Reliability of the slope, 0 to 1: 0 below two seconds of data, 1 from ten seconds on.
  var confidence: Double {
    min(max(Double(self.windows + self.earlierWindows) * Self.window - 2, 0) / 8, 1)
  }

  /// The clock's time less the position, at ``position``.
  private var offset = 0.0
  private var position = 0.0
  /// Points of the current window.
  private var open: [(position: Double, residual: Double)] = []
  /// Residual of the latest outliers that agree, and the number of consecutive ones.
  private var outliers: (residual: Double, count: Int)?
  /// Number of windows before the last gap or step that contributed to ``drift``.
  private var earlierWindows = 0

  /// The clock's time at a position, on the line.
  func time(at position: Double) -> Double {
    position + self.offset + (position - self.position) * self.drift
  }

  /// Adds the timestamp of a block.
  ///
  /// - Returns: Whether the device's time has stepped: consistent timestamps have left the line. A new line with the same
  ///   slope then starts there.
  mutating func add(position: Double, time: Double) -> Bool {
    if self.windows == 0, self.open.isEmpty { (self.position, self.offset) = (position, time - position) }
    self.open.append((position, time - self.time(at: position)))
    guard let first = self.open.first, position - first.position >= Self.window * 0.9 else { return false }
    let middle = (first.position + position) / 2
    let residuals = self.open.map(\.residual).sorted()
    self.open.removeAll(keepingCapacity: true)
    return self.add(residual: residuals[residuals.count / 2], at: middle)
  }

  /// Starts a new line with the same slope after a gap.
  mutating func restart() {
    self.open.removeAll(keepingCapacity: true)
    (self.position, self.offset, self.outliers) = (0, 0, nil)
    // Keeps the weight of the known slope, so that the first points of the new line do not tilt it.
    self.earlierWindows = max(self.earlierWindows, self.windows)
    self.windows = 0
  }

  private mutating func add(residual: Double, at middle: Double) -> Bool {
    if abs(residual) > Self.tolerance, self.windows > 0 {
      let (first, count) = self.outliers.flatMap { abs($0.residual - residual) < 0.01 ? $0 : nil } ?? (residual, 0)
      self.outliers = (first, count + 1)
      // At the start the line itself may be wrong; later the outliers must agree for a second.
      guard count + 1 >= min(max(self.windows, 2), 10) else { return false }
      let time = self.time(at: middle) + residual
      self.restart()
      (self.position, self.offset, self.windows) = (middle, time - middle, 1)
      return true
    }
    self.outliers = nil
    self.windows = min(self.windows + 1, Self.memory)
    let count = Double(self.windows)
    let elapsed = middle - self.position
    self.offset = self.time(at: middle) - middle + residual * 2 * (2 * count - 1) / (count * (count + 1))
    if self.windows > 1, elapsed > 0 {
      let known = Double(min(self.windows + self.earlierWindows, Self.memory))
      self.drift += residual / elapsed * 6 / (known * (known + 1))
      self.drift = min(max(self.drift, Self.driftRange.lowerBound), Self.driftRange.upperBound)
    }
    self.position = middle
    return false
  }
}

/// Controls the deviation of the resampling rate from nominal, so that audio stays in sync with the ``StreamClock``
/// inaudibly.
///
/// The known drift of the device is compensated at once; the remaining offset is corrected over about ten seconds. A change
/// of pitch by 0.5% is a twelfth of a semitone, the threshold of trained ears; in normal operation it is a tenth of that,
/// and it changes slowly.
struct ResamplingRateController {
  /// Maximum deviation.
  static let maximumDeviation = 0.005
  /// Maximum part of the deviation that corrects an offset.
  static let maximumCorrection = 0.0005
  /// Maximum change of the deviation per second.
  static let maximumSlew = 0.0002
  /// Part of the offset that is corrected per second.
  static let gain = 0.1

  /// Samples to produce beyond the nominal number, per sample: 0.001 for a device that is 0.1% slow.
  private(set) var deviation = 0.0

  /// Updates the deviation for the next block.
  ///
  /// - Parameters:
  ///   - drift: ``DriftEstimator/drift``, scaled by its reliability.
  ///   - error: Seconds by which the next sample's capture time is later than its timestamp.
  ///   - elapsed: Seconds since the last call.
  mutating func update(drift: Double, error: Double, elapsed: Double) {
    let correction = (error * Self.gain).clamped(to: Self.maximumCorrection)
    let target = (drift + correction).clamped(to: Self.maximumDeviation)
    self.deviation += (target - self.deviation).clamped(to: Self.maximumSlew * max(elapsed, 0))
  }
}

extension Double {
  /// The number clamped to -`limit`...`limit`.
  fileprivate func clamped(to limit: Double) -> Double {
    min(max(self, -limit), limit)
  }
}
