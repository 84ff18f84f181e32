internal import Media

/// The share of packets that were lost in the last second, and how much of it does not depend on our bitrate.
///
/// Radio links lose packets at any bitrate; full queues lose them because of it. Loss that stays when the bitrate has
/// fallen by 40% is of the first kind, and is tolerated from then on.
struct PacketLoss: Sendable {
  private static let interval = MediaDuration.milliseconds(100)
  private static let intervalCount = 10
  /// Packets below which a share says little.
  private static let minimumCount = 20
  /// Share of the bitrate at which loss began, at which the rest of it is taken for that of the path.
  private static let testedShare = 0.6

  private struct Interval {
    var number: Int64 = .min
    var lost = 0
    var arrived = 0
  }

  private var intervals = [Interval](repeating: Interval(), count: Self.intervalCount)
  /// Share that is lost at any bitrate.
  private(set) var inherentShare = 0.0
  /// Share and bitrate when too much began to be lost.
  private var beginning: (share: Double, bitrate: Double)?

  /// Adds packets that were reported; negative losses for packets that arrive after they were reported lost.
  mutating func add(lost: Int, arrived: Int, at now: MediaTime) {
    let number = now.nanoseconds / Self.interval.nanoseconds
    let index = Int(number.magnitude % UInt64(Self.intervalCount))
    if self.intervals[index].number != number { self.intervals[index] = Interval(number: number) }
    self.intervals[index].lost += lost
    self.intervals[index].arrived += arrived
  }

  /// Forgets the packets of the last second.
  mutating func forget() {
    for index in self.intervals.indices { self.intervals[index] = Interval() }
  }

  /// Share of the last second's packets that were lost, 0 to 1; nil when they were too few.
  func share(at now: MediaTime) -> Double? {
    let first = now.nanoseconds / Self.interval.nanoseconds - Int64(Self.intervalCount)
    var (lost, arrived) = (0, 0)
    for interval in self.intervals where interval.number > first {
      lost += interval.lost
      arrived += interval.arrived
    }
    lost = max(0, lost)
    guard lost + arrived >= Self.minimumCount else { return nil }
    return Double(lost) / Double(lost + arrived)
  }

  /// Loss beyond that of the path, when the bitrate is lowered because of it or is not.
  ///
  /// - Parameters:
  ///   - share: Loss of the last second, or of a receiver report.
  ///   - limit: Loss that is no reason to lower the bitrate.
  mutating func excess(_ share: Double, limit: Double, bitrate: Double) -> Double {
    self.inherentShare = min(self.inherentShare, share)
    guard share - self.inherentShare > limit else {
      if share <= limit / 2 { self.beginning = nil }
      return 0
    }
    let beginning = self.beginning ?? (share, bitrate)
    self.beginning = beginning
    // Everything is lost during an outage, or by a client that lies: no path works like that.
    if bitrate <= beginning.bitrate * Self.testedShare, share >= beginning.share * 0.7, share < 0.5 {
      self.inherentShare = share
      self.beginning = nil
      return 0
    }
    return share - self.inherentShare
  }
}
