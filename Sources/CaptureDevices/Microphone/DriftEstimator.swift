/// How fast a sound device's clock runs against the streams', out of timestamps that jitter.
///
/// A device counts samples; each block's timestamp says, with some error, when its first sample was taken. A line is
/// laid through these points by least squares that grow with the time until ``memory`` and forget from then on: the
/// expanding-memory polynomial filter of the first degree (Morrison, Introduction to Sequential Smoothing and
/// Prediction, 1969, §9). Before that the median of each ``window`` is taken, so that stamps that are far off do not
/// count, as long as they are the smaller part.
///
/// All times are in seconds: the position is what the device counts, at its nominal rate, the time what the clock says.
struct DriftEstimator {
  /// The device's seconds that a median is taken over.
  static let window = 0.1
  /// The windows that the line remembers: a minute. With stamps that stray by 5 ms it is then sure to some 10⁻⁶.
  static let memory = 600
  /// How far a window may be off the line before it is not believed.
  static let tolerance = 0.025
  /// The steepest line: no crystal is as wrong as 2%.
  static let driftRange = -0.02...0.02

  /// The clock's seconds beyond the device's own, for each of these: 0.001 for a device that is 0.1% slow.
  private(set) var drift = 0.0
  /// The windows that the line goes through, up to ``memory``.
  private(set) var windows = 0

  /// How sure the steepness is, 0 to 1: nothing is known from less than two seconds, all from ten.
  var confidence: Double {
    min(max(Double(self.windows + self.settled) * Self.window - 2, 0) / 8, 1)
  }

  /// The clock's time beyond the position, at ``position``.
  private var offset = 0.0
  private var position = 0.0
  private var open: [(position: Double, residual: Double)] = []
  /// Where windows that are off the line are instead, and how many in a row agree on that.
  private var stray: (residual: Double, count: Int)?
  /// The windows that ``drift`` was learnt from before the last gap or step.
  private var settled = 0

  /// The clock's time at a position, as the line has it.
  func time(at position: Double) -> Double {
    position + self.offset + (position - self.position) * self.drift
  }

  /// Takes in the timestamp of a block.
  ///
  /// - Returns: Whether the device's time has stepped: stamps that agree among each other have left the line for good.
  ///   The line then goes on from there, as steep as it was.
  mutating func add(position: Double, time: Double) -> Bool {
    if self.windows == 0, self.open.isEmpty { (self.position, self.offset) = (position, time - position) }
    self.open.append((position, time - self.time(at: position)))
    guard let first = self.open.first, position - first.position >= Self.window * 0.9 else { return false }
    let middle = (first.position + position) / 2
    let residuals = self.open.map(\.residual).sorted()
    self.open.removeAll(keepingCapacity: true)
    return self.add(residual: residuals[residuals.count / 2], at: middle)
  }

  /// Begins a new line after a gap, as steep as the old one.
  mutating func restart() {
    self.open.removeAll(keepingCapacity: true)
    (self.position, self.offset, self.stray) = (0, 0, nil)
    // The steepness is known from before, so that the first points of the new line shall not turn it.
    self.settled = max(self.settled, self.windows)
    self.windows = 0
  }

  private mutating func add(residual: Double, at middle: Double) -> Bool {
    if abs(residual) > Self.tolerance, self.windows > 0 {
      let (first, count) = self.stray.flatMap { abs($0.residual - residual) < 0.01 ? $0 : nil } ?? (residual, 0)
      self.stray = (first, count + 1)
      // At the start the line itself may be what is wrong; later a second of agreement is asked for.
      guard count + 1 >= min(max(self.windows, 2), 10) else { return false }
      let time = self.time(at: middle) + residual
      self.restart()
      (self.position, self.offset, self.windows) = (middle, time - middle, 1)
      return true
    }
    self.stray = nil
    self.windows = min(self.windows + 1, Self.memory)
    let count = Double(self.windows)
    let elapsed = middle - self.position
    self.offset = self.time(at: middle) - middle + residual * 2 * (2 * count - 1) / (count * (count + 1))
    if self.windows > 1, elapsed > 0 {
      let known = Double(min(self.windows + self.settled, Self.memory))
      self.drift += residual / elapsed * 6 / (known * (known + 1))
      self.drift = min(max(self.drift, Self.driftRange.lowerBound), Self.driftRange.upperBound)
    }
    self.position = middle
    return false
  }
}
