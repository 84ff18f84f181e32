public import Media

/// Estimates the bitrate that a TCP connection carries, from what the peer acknowledges and what waits to be sent.
///
/// A connection on which nothing waits does not show how much more it would carry. So the estimate is lowered by measurement
/// (the oldest unsent byte grows old) and raised by trial: slowly, and only while the sender uses what is estimated.
public struct QueueEstimator: Sendable {
  /// State of a connection, about ten times a second.
  public struct Measurement: Hashable, Sendable {
    /// Time of the measurement.
    public var time: MediaTime
    /// Bytes that have left since the start: acknowledged, or accepted by the network from a socket without a queue.
    public var sentByteCount: Int64
    /// Age of the oldest byte that has not left; zero when none waits.
    public var oldestUnsentAge: MediaDuration

    /// Creates a measurement; bytes count from the connection's start.
    public init(time: MediaTime, sentByteCount: Int64, oldestUnsentAge: MediaDuration) {
      self.time = time
      self.sentByteCount = sentByteCount
      self.oldestUnsentAge = oldestUnsentAge
    }
  }

  /// Age of unsent bytes from which the connection is congested. Keyframes of a quarter second's bits wait less.
  public static let congestedAge = MediaDuration.milliseconds(300)

  /// Age of unsent bytes up to which the estimate may rise.
  private static let relaxedAge = MediaDuration.milliseconds(150)
  /// Span over which the sent bytes are counted.
  private static let window = MediaDuration.seconds(1)
  /// Time that a lowered bitrate needs to show in the queue.
  private static let reactionTime = MediaDuration.milliseconds(1000)
  /// Time without congestion before the estimate rises.
  private static let calmTime = MediaDuration.seconds(4)
  /// Time for which the bitrate of the last congestion is approached slowly.
  private static let memory = MediaDuration.seconds(30)
  /// Time for which the queue must grow before the estimate falls: a burst of loss is over by then.
  private static let persistence = MediaDuration.milliseconds(400)
  /// Variation of a queue's age with the sizes of frames.
  private static let unevenness = MediaDuration.milliseconds(50)
  /// Factor of the measured bitrate after congestion, so that the queue empties.
  private static let loweringFactor = 0.85
  /// Rise per second.
  private static let rise = 0.08
  /// Rise per second near the bitrate of the last congestion.
  private static let carefulRise = 0.01
  /// Share of the estimate that must be in use for a rise.
  private static let usedShare = 0.7

  /// Estimated bitrate in bits per second, within the bounds.
  public private(set) var bitrate: Int
  /// Whether the sender uses less than it could, so that ``bitrate`` is a lower bound.
  public private(set) var isLimitedBySender = false

  private let bounds: ClosedRange<Int>
  /// The estimate without rounding.
  private var estimate: Double
  private var history: [Measurement] = []
  /// Since when unsent bytes grow older, and their greatest age; nil without congestion.
  private var growth: (start: MediaTime, peak: MediaDuration)?
  private var lastLowering: MediaTime?
  private var lastCongestion: MediaTime?
  /// Bitrate at the last congestion.
  private var ceiling: Double?

  /// Creates an estimator for a new connection.
  ///
  /// - Parameters:
  ///   - bitrate: First estimate, in bits per second; clamped to `bounds`.
  ///   - bounds: Least and greatest estimate; the lower bound is at least 1.
  public init(bitrate: Int, bounds: ClosedRange<Int>) {
    precondition(bounds.lowerBound > 0, "a bitrate is greater than 0")
    self.bounds = bounds
    self.bitrate = min(max(bitrate, bounds.lowerBound), bounds.upperBound)
    self.estimate = Double(self.bitrate)
  }

  /// Adds a measurement; one that is not later than the last is ignored.
  public mutating func update(_ measurement: Measurement) {
    guard let last = self.history.last else { return self.history = [measurement] }
    guard measurement.time > last.time else { return }
    self.history.append(measurement)
    // One measurement at or before the window's beginning remains.
    let beginning = measurement.time - Self.window
    if let first = self.history.lastIndex(where: { $0.time <= beginning }) { self.history.removeFirst(first) }
    // A fraction of a second says little: one keyframe may be in it.
    let isMeasured = (measurement.time - self.history[0].time).seconds >= Self.window.seconds / 2
    let sent = self.sentBitrate(from: 0)

    let age = measurement.oldestUnsentAge
    self.followGrowth(of: age, at: measurement.time)
    if age >= Self.congestedAge {
      self.lastCongestion = measurement.time
      self.isLimitedBySender = false
      let isPersistent = self.growth.map { measurement.time - $0.start >= Self.persistence } ?? false
      let hasReacted = self.lastLowering.map { measurement.time - $0 >= Self.reactionTime } ?? true
      if isMeasured, isPersistent, hasReacted {
        let carried = max(sent, self.maximumSentBitrate)
        self.lower(to: carried * Self.loweringFactor, from: carried, at: measurement.time)
      }
      return
    }
    self.isLimitedBySender = isMeasured && sent < self.estimate * Self.usedShare
    guard age <= Self.relaxedAge, isMeasured, !self.isLimitedBySender else { return }
    if let lastCongestion, measurement.time - lastCongestion < Self.calmTime { return }
    self.raise(over: (measurement.time - last.time).seconds, at: measurement.time)
  }

  /// Bits per second since a measurement of the history.
  private func sentBitrate(from index: Int, to end: Int? = nil) -> Double {
    let (first, last) = (self.history[index], self.history[end ?? self.history.count - 1])
    let span = (last.time - first.time).seconds
    return span > 0 ? Double(last.sentByteCount - first.sentByteCount) * 8 / span : 0
  }

  /// Maximum bitrate sent in any half of the window: a burst of loss stops all of it, without being the link's rate.
  private var maximumSentBitrate: Double {
    var start = 0
    var greatest = 0.0
    for end in self.history.indices {
      while self.history[end].time - self.history[start + 1 < end ? start + 1 : start].time >= Self.window / 2,
        start + 1 < end
      { start += 1 }
      if self.history[end].time - self.history[start].time >= Self.window / 2 {
        greatest = max(greatest, self.sentBitrate(from: start, to: end))
      }
    }
    return greatest
  }

  /// Remembers since when the queue has been growing.
  private mutating func followGrowth(of age: MediaDuration, at time: MediaTime) {
    guard age >= Self.congestedAge else { return self.growth = nil }
    guard let growth, age > growth.peak - Self.unevenness else { return self.growth = (time, age) }
    self.growth = (growth.start, max(growth.peak, age))
  }

  private mutating func lower(to target: Double, from sent: Double, at time: MediaTime) {
    self.ceiling = min(self.estimate, max(sent, Double(self.bounds.lowerBound)))
    self.lastLowering = time
    self.set(min(self.estimate, target))
  }

  private mutating func raise(over seconds: Double, at time: MediaTime) {
    if let lastLowering, time - lastLowering > Self.memory { self.ceiling = nil }
    let isNearCeiling = self.ceiling.map { self.estimate > $0 * 0.9 } ?? false
    self.set(self.estimate * (1 + (isNearCeiling ? Self.carefulRise : Self.rise) * min(seconds, 1)))
  }

  private mutating func set(_ estimate: Double) {
    self.estimate = min(max(estimate, Double(self.bounds.lowerBound)), Double(self.bounds.upperBound))
    self.bitrate = Int(self.estimate)
  }
}
