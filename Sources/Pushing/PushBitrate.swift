internal import Media

/// Decides the bitrate of a push's own encoding from what its connection takes. Pure: `now` is an argument.
///
/// - It falls when what waits is 300 ms old and has grown older for 400 ms: to 80% of the rate at which the link has sent.
/// - It rises when bursts show that the link carries more. A keyframe is many times as large as other frames; the time in which
///   it leaves is the link's rate, without sending more than the encoder makes. Links that let bursts pass faster than the rest
///   are known by the congestion that follows, and their bursts are then not believed for a while.
/// - Without such evidence it rises by a tenth after a time, which doubles with each attempt that fails.
///
/// So the bitrate stays the same on a link that does, and follows one that has recovered within seconds.
struct PushBitrate {
  /// Age of unsent media from which the connection is congested, and up to which the bitrate may rise.
  private static let congestedAge = MediaDuration.milliseconds(300)
  private static let relaxedAge = MediaDuration.milliseconds(150)
  /// Time for which the age must grow before the bitrate falls: a burst of loss is over by then.
  private static let persistence = MediaDuration.milliseconds(400)
  /// Variation of the age with the sizes of frames.
  private static let unevenness = MediaDuration.milliseconds(50)
  /// Time that a lowered bitrate needs to show in the queue.
  private static let reactionTime = MediaDuration.seconds(1)
  /// Span over which the sent bytes are counted.
  private static let window = MediaDuration.seconds(1)
  /// Share of the link's rate that the video gets; audio and what varies have the rest.
  private static let usableShare = 0.8
  /// Length of a burst that is measured, as a time at the current bitrate, and of a part of a long one.
  private static let burstTime = 0.08
  private static let longBurst = MediaDuration.milliseconds(250)
  /// Least rise by evidence, as a factor; and greatest.
  private static let evidentRise = (least: 1.15, following: 1.03, greatest: 1.5)
  /// Minimum time between a change and a rise by evidence, and since congestion.
  private static let calmTime = MediaDuration.seconds(3)
  /// Rise without evidence, and the first and longest time before it.
  private static let blindRise = 1.1
  private static let holdTimes = (first: MediaDuration.seconds(60), longest: MediaDuration.seconds(240))
  /// Time after a rise in which congestion shows that it was too much.
  private static let trialTime = MediaDuration.seconds(20)

  private enum Rise { case evident, blind }

  /// Bits per second.
  private(set) var bitrate: Int
  private let bounds: ClosedRange<Int>
  private var history: [(time: MediaTime, leftByteCount: Int64)] = []
  /// Since when unsent media grows older, and its greatest age.
  private var growth: (start: MediaTime, peak: MediaDuration)?
  /// Beginning of the current burst; nil while nothing is unsent.
  private var burst: (time: MediaTime, leftByteCount: Int64)?
  /// Rates of the last bursts, in bits per second.
  private var burstRates: [Double] = []
  private var lastChange: MediaTime?
  private var lastCongestion: MediaTime?
  private var lastRise: (kind: Rise, time: MediaTime)?
  private var holdTime = holdTimes.first
  /// Until when bursts are not believed.
  private var disbeliefEnd: MediaTime?
  private var disbeliefTime = holdTimes.first

  /// - Parameter bounds: Least and greatest bitrate; it begins with the greatest.
  init(bounds: ClosedRange<Int>) {
    self.bounds = bounds
    self.bitrate = bounds.upperBound
  }

  /// Notes that bytes are passed to a connection from which everything has left.
  mutating func burstBegins(leftByteCount: Int64, at now: MediaTime) {
    self.burst = (now, leftByteCount)
  }

  /// Notes what has left.
  mutating func measure(leftByteCount: Int64, isEmpty: Bool, at now: MediaTime) {
    guard let burst, now > burst.time, isEmpty || now - burst.time >= Self.longBurst else { return }
    let bits = Double(leftByteCount - burst.leftByteCount) * 8
    if bits >= Double(self.bitrate) * Self.burstTime {
      self.burstRates.append(bits / (now - burst.time).seconds)
      if self.burstRates.count > 2 { self.burstRates.removeFirst() }
    }
    self.burst = isEmpty ? nil : (now, leftByteCount)
  }

  /// Decides; called some ten times a second.
  ///
  /// - Parameter age: Age of the oldest media that has not left.
  /// - Returns: The new bitrate; nil when it stays.
  mutating func update(leftByteCount: Int64, age: MediaDuration, at now: MediaTime) -> Int? {
    self.history.append((now, leftByteCount))
    if let first = self.history.lastIndex(where: { now - $0.time >= Self.window }) { self.history.removeFirst(first) }
    self.followGrowth(of: age, at: now)
    if age >= Self.congestedAge {
      self.lastCongestion = now
      return self.fall(at: now)
    }
    guard age <= Self.relaxedAge else { return nil }
    return self.rise(at: now)
  }

  private mutating func followGrowth(of age: MediaDuration, at now: MediaTime) {
    guard age >= Self.congestedAge else { return self.growth = nil }
    guard let growth, age > growth.peak - Self.unevenness else { return self.growth = (now, age) }
    self.growth = (growth.start, max(growth.peak, age))
  }

  private mutating func fall(at now: MediaTime) -> Int? {
    guard let growth, now - growth.start >= Self.persistence else { return nil }
    if let lastChange, now - lastChange < Self.reactionTime { return nil }
    guard let first = self.history.first, now - first.time >= Self.window / 2 else { return nil }
    let target = self.clamped(max(self.maximumSentBitrate, self.burstRates.min() ?? 0) * Self.usableShare)
    guard target < self.bitrate else { return nil }
    self.judgeLastRise(at: now)
    self.burstRates = []
    return self.change(to: target, at: now)
  }

  /// Makes the next attempt wait longer when the last one has failed.
  private mutating func judgeLastRise(at now: MediaTime) {
    guard let (kind, time) = self.lastRise else { return }
    self.lastRise = nil
    guard now - time < Self.trialTime else { return }
    switch kind {
    case .blind: self.holdTime = min(self.holdTime * 2, Self.holdTimes.longest)
    case .evident:
      self.disbeliefEnd = now + self.disbeliefTime
      self.disbeliefTime = min(self.disbeliefTime * 2, Self.holdTimes.longest)
    }
  }

  private mutating func rise(at now: MediaTime) -> Int? {
    guard self.bitrate < self.bounds.upperBound else { return nil }
    for last in [self.lastChange, self.lastCongestion] {
      if let last, now - last < Self.calmTime { return nil }
    }
    let isBelieved = self.disbeliefEnd.map { now >= $0 } ?? true
    if isBelieved, self.burstRates.count == 2 {
      // Once it has risen, the rest follows.
      let isFollowing = self.lastRise.map { $0.kind == .evident && now - $0.time < Self.trialTime } ?? false
      let rate = (isFollowing ? self.burstRates.max() : self.burstRates.min()) ?? 0
      let usable = rate * Self.usableShare
      let least = isFollowing ? Self.evidentRise.following : Self.evidentRise.least
      if usable >= Double(self.bitrate) * least || usable >= Double(self.bounds.upperBound) {
        self.lastRise = (.evident, now)
        self.burstRates = []
        return self.change(to: self.clamped(min(usable, Double(self.bitrate) * Self.evidentRise.greatest)), at: now)
      }
    }
    guard let lastChange, now - lastChange >= self.holdTime else { return nil }
    self.lastRise = (.blind, now)
    return self.change(to: self.clamped(Double(self.bitrate) * Self.blindRise), at: now)
  }

  private mutating func change(to bitrate: Int, at now: MediaTime) -> Int? {
    guard bitrate != self.bitrate else { return nil }
    self.lastChange = now
    self.bitrate = bitrate
    return bitrate
  }

  private func clamped(_ bitrate: Double) -> Int {
    min(max(Int(bitrate), self.bounds.lowerBound), self.bounds.upperBound)
  }

  /// The most that was sent in any half of the window: during a burst of loss nothing is, without being the link's rate.
  private var maximumSentBitrate: Double {
    var greatest = 0.0
    for (index, end) in self.history.enumerated() {
      guard let start = self.history[..<index].last(where: { end.time - $0.time >= Self.window / 2 }) else { continue }
      greatest = max(
        greatest, Double(end.leftByteCount - start.leftByteCount) * 8 / (end.time - start.time).seconds)
    }
    return greatest
  }
}
