internal import Media

/// Decides the bitrate of a push's own encoding from what its connection takes. Pure: `now` is an argument.
///
/// - It falls when unsent media is 300 ms old and has grown older for 400 ms: to 80% of the rate at which the link has sent.
/// - It rises when bursts show that the link carries more. A keyframe is many times as large as other frames; the time in which
///   it leaves is the link's rate, without sending more than the encoder makes. Links that let the beginning of a burst pass
///   faster than the rest, as token buckets do, are known by the congestion that follows. For a while, only what is larger than
///   that beginning counts, and must show that much more is carried.
/// - Without such evidence it rises by a tenth after a time, which doubles with each attempt that fails.
///
/// So the bitrate stays the same on a link of a constant rate, and follows one that has recovered within seconds.
///
/// What has left is known from acknowledgements, a round trip later. Bursts are therefore measured in the time of the link, a
/// round-trip time ago, and compared with what was passed to the connection by then.
struct PushBitrate {
  /// Age of unsent media from which the connection is congested, and up to which the bitrate may rise.
  private static let congestedAge = MediaDuration.milliseconds(300)
  private static let relaxedAge = MediaDuration.milliseconds(150)
  /// Time for which the age must grow before the bitrate falls: a burst of loss is over by then.
  private static let persistence = MediaDuration.milliseconds(400)
  /// Time for which the age must grow before bursts that left faster no longer count: a pause of the link is over by then.
  private static let pauseTime = MediaDuration.milliseconds(700)
  /// Variation of the age with the sizes of frames.
  private static let unevenness = MediaDuration.milliseconds(50)
  /// Time that a lowered bitrate needs to show in the queue.
  private static let reactionTime = MediaDuration.seconds(1)
  /// Span over which the sent bytes are counted.
  private static let window = MediaDuration.seconds(1)
  /// Share of the link's rate that the video gets; audio and what varies have the rest.
  private static let usableShare = 0.8
  /// Length of a burst that is measured, as a time at the current bitrate, and of a part of a long one.
  private static let burstTime = 0.065
  private static let longBurst = MediaDuration.milliseconds(250)
  /// Factors of a rise after a burst that the link has carried: minimum, minimum directly after such a rise, minimum in the time
  /// after one that has failed, maximum.
  private static let evidentRise = (minimum: 1.25, following: 1.03, doubted: 1.5, maximum: 1.5)
  /// Factor for what the link lets pass at once, of which a rise that has failed shows a part.
  private static let passedAtOnceMargin = 1.25
  /// Minimum time between a change, or congestion, and a rise after such a burst.
  private static let calmTime = MediaDuration.seconds(3)
  /// Rise without such a burst, as a factor; minimum and maximum time before it.
  private static let blindRise = 1.1
  private static let holdTimes = (first: MediaDuration.seconds(60), maximum: MediaDuration.seconds(240))
  /// Time after a rise in which congestion shows that it was too much: an evident one may be so by little, which what passes at
  /// once makes up for at first.
  private static let trialTimes = (evident: MediaDuration.seconds(30), blind: MediaDuration.seconds(20))
  /// Time after an evident rise in which a smaller one may follow.
  private static let followingTime = MediaDuration.seconds(20)

  private enum Rise { case evident, blind }

  /// Bytes that left one after the other: a burst, or a part of a long one.
  private struct Burst {
    var bits: Double
    var duration: MediaDuration
    /// Whether it is the beginning of the burst: a link may let some of it pass at once.
    var isBeginning: Bool

    /// Bits per second, without bits that pass at once.
    func rate(without passedAtOnce: Double = 0) -> Double {
      max(0, self.bits - (self.isBeginning ? passedAtOnce : 0)) / self.duration.seconds
    }
  }

  /// Bits per second.
  private(set) var bitrate: Int
  private var bounds: ClosedRange<Int>
  private var history: [(time: MediaTime, leftByteCount: Int64)] = []
  /// Time since which unsent media grows older, and its maximum age.
  private var growth: (start: MediaTime, peak: MediaDuration)?
  /// Round-trip time of the connection.
  private var roundTripTime = MediaDuration.zero
  /// Bytes that were passed to the connection during the last round trip, each with its time.
  private var inFlight: [(time: MediaTime, bytes: Range<Int64>)] = []
  /// Bytes that were passed to the connection before.
  private var arrivedByteCount: Int64 = 0
  /// Beginning of the current burst, in the time of the link; nil while nothing is unsent.
  private var burst: (time: MediaTime, leftByteCount: Int64, isBeginning: Bool)?
  /// The last two bursts, and those that led to ``lastRise``.
  private var bursts: [Burst] = []
  private var evidence: [Burst] = []
  private var lastChange: MediaTime?
  private var lastCongestion: MediaTime?
  private var lastRise: (kind: Rise, time: MediaTime)?
  private var holdTime = holdTimes.first
  /// End of the time in which the beginnings of bursts are ignored.
  private var doubtEnd: MediaTime?
  private var doubtTime = holdTimes.first
  /// Bits that the link lets pass at once, judged by rises that have failed.
  private var passedAtOnce = 0.0

  /// - Parameter bounds: Minimum and maximum bitrate; the first one is the maximum.
  init(bounds: ClosedRange<Int>) {
    self.bounds = bounds
    self.bitrate = bounds.upperBound
  }

  /// Changes the maximum bitrate; a bitrate that is at the maximum follows it.
  mutating func setMaximum(_ maximum: Int) {
    let isFull = self.bitrate == self.bounds.upperBound
    self.bounds = min(self.bounds.lowerBound, maximum)...maximum
    self.bitrate = isFull ? maximum : min(self.bitrate, maximum)
  }

  /// Records bytes that are passed to the connection as in flight.
  mutating func handleReleased(_ bytes: Range<Int64>, at now: MediaTime) {
    self.inFlight.append((now, bytes))
  }

  /// Counts bytes that the connection has sent, as acknowledged a round trip later.
  mutating func measure(leftByteCount: Int64, roundTripTime: MediaDuration, at now: MediaTime) {
    self.roundTripTime = roundTripTime
    let linkTime = now - roundTripTime
    let arrivedCount = self.inFlight.prefix(while: { $0.time <= linkTime }).count
    for (time, bytes) in self.inFlight.prefix(arrivedCount) {
      // Frames that follow each other closely are no burst when each has left before the next one.
      if leftByteCount >= bytes.lowerBound {
        self.endBurst(at: linkTime, leftByteCount: bytes.lowerBound, isEmpty: true)
      }
      if self.burst == nil { self.burst = (time, bytes.lowerBound, true) }
      self.arrivedByteCount = bytes.upperBound
    }
    self.inFlight.removeFirst(arrivedCount)
    let isEmpty = leftByteCount >= self.arrivedByteCount
    if isEmpty || self.burst.map({ linkTime - $0.time >= Self.longBurst }) == true {
      self.endBurst(at: linkTime, leftByteCount: min(leftByteCount, self.arrivedByteCount), isEmpty: isEmpty)
    }
  }

  /// Ends a burst, or a part of it, whose last byte has left.
  private mutating func endBurst(at linkTime: MediaTime, leftByteCount: Int64, isEmpty: Bool) {
    guard let burst, linkTime > burst.time else { return }
    let bits = Double(leftByteCount - burst.leftByteCount) * 8
    if bits >= Double(self.bitrate) * Self.burstTime {
      self.bursts.append(Burst(bits: bits, duration: linkTime - burst.time, isBeginning: burst.isBeginning))
      if self.bursts.count > 2 { self.bursts.removeFirst() }
    }
    self.burst = isEmpty ? nil : (linkTime, leftByteCount, false)
  }

  /// Updates the bitrate; called about ten times a second.
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
    if let lastChange, now - lastChange < Self.reactionTime + self.roundTripTime { return nil }
    guard let first = self.history.first, now - first.time >= Self.window / 2 else { return nil }
    let sentBitrate = self.maximumSentBitrate
    // A pause of the link is no slow link, unless it goes on.
    let burstRate = now - growth.start < Self.pauseTime ? self.bursts.map { $0.rate() }.min() ?? 0 : 0
    let target = self.clamped(max(sentBitrate, burstRate) * Self.usableShare)
    guard target < self.bitrate else { return nil }
    self.judgeLastRise(sentBitrate: sentBitrate, at: now)
    self.bursts = []
    return self.change(to: target, at: now)
  }

  /// Makes the next attempt wait longer when the last one has failed.
  ///
  /// - Parameter sentBitrate: Bits per second that the link carries now.
  private mutating func judgeLastRise(sentBitrate: Double, at now: MediaTime) {
    guard let (kind, time) = self.lastRise else { return }
    self.lastRise = nil
    guard now - time < (kind == .evident ? Self.trialTimes.evident : Self.trialTimes.blind) else { return }
    switch kind {
    case .blind: self.holdTime = min(self.holdTime * 2, Self.holdTimes.maximum)
    case .evident:
      self.doubtEnd = now + self.doubtTime
      self.doubtTime = min(self.doubtTime * 2, Self.holdTimes.maximum)
      for burst in self.evidence where burst.isBeginning {
        self.passedAtOnce = max(self.passedAtOnce, burst.bits - sentBitrate * burst.duration.seconds)
      }
    }
  }

  private mutating func rise(at now: MediaTime) -> Int? {
    guard self.bitrate < self.bounds.upperBound else { return nil }
    for last in [self.lastChange, self.lastCongestion] {
      if let last, now - last < Self.calmTime { return nil }
    }
    let isDoubted = self.doubtEnd.map { now < $0 } ?? false
    if self.bursts.count == 2 {
      // Once it has risen, the rest follows.
      let isFollowing = self.lastRise.map { $0.kind == .evident && now - $0.time < Self.followingTime } ?? false
      let ignoredBits = isDoubted ? self.passedAtOnce * Self.passedAtOnceMargin : 0
      let rates = self.bursts.map { $0.rate(without: ignoredBits) }
      let usable = ((isFollowing ? rates.max() : rates.min()) ?? 0) * Self.usableShare
      let rise = Self.evidentRise
      let minimum = isFollowing ? rise.following : isDoubted ? rise.doubted : rise.minimum
      if usable >= Double(self.bitrate) * minimum || usable >= Double(self.bounds.upperBound) {
        self.lastRise = (.evident, now)
        self.evidence = self.bursts
        self.bursts = []
        return self.change(to: self.clamped(min(usable, Double(self.bitrate) * Self.evidentRise.maximum)), at: now)
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

  /// Maximum rate over any half of the window: during a burst of loss nothing is sent, which is not the link's rate.
  private var maximumSentBitrate: Double {
    var maximum = 0.0
    for (index, end) in self.history.enumerated() {
      guard let start = self.history[..<index].last(where: { end.time - $0.time >= Self.window / 2 }) else { continue }
      maximum = max(
        maximum, Double(end.leftByteCount - start.leftByteCount) * 8 / (end.time - start.time).seconds)
    }
    return maximum
  }
}
