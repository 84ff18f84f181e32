public import Media

/// Reception statistics of one source: RFC 3550 A.1 (sequence numbers), A.3 (loss), A.8 (jitter).
///
/// The probation of A.1 is omitted: SETUP identifies the source.
public struct RTPReceptionStatistics: Sendable {
  /// Classification of a packet's sequence number.
  public enum Verdict: Hashable, Sendable {
    /// The next number, or a number behind a gap, which is counted as loss.
    case inOrder
    /// Not above the highest number.
    case lateOrDuplicate
    /// Too far from the highest number; the packet is not counted. A second packet that follows it restarts the
    /// statistics.
    case jump
  }

  /// Clock rate of the source's timestamps, in ticks per second.
  public let clockRate: Int32
  /// Number of packets received, late and duplicate ones included, since the start or the last restart.
  public private(set) var receivedCount: UInt64 = 0

  private var isStarted = false
  private var baseSequenceNumber: UInt32 = 0
  private var highest: UInt16 = 0
  private var cycles: UInt32 = 0
  private var jumpSuccessor: UInt16?
  private var expectedPrior: UInt64 = 0
  private var receivedPrior: UInt64 = 0
  private var lastTransit: UInt32?
  /// Jitter in 1 / 16 ticks.
  private var scaledJitter: UInt64 = 0
  private var lastReport: (ntp: NTPTimestamp, arrival: MediaTime)?

  private static let maximumDropout: UInt16 = 3000
  private static let maximumMisorder: UInt16 = 100

  /// Creates statistics before the first packet.
  ///
  /// - Parameter clockRate: Ticks per second of the RTP timestamps; traps below 1.
  public init(clockRate: Int32) {
    precondition(clockRate > 0, "a clock counts at least one tick a second")
    self.clockRate = clockRate
  }

  /// The highest sequence number so far, with the number of wraps in the upper 16 bits.
  public var extendedHighestSequenceNumber: UInt32 {
    self.cycles | UInt32(self.highest)
  }

  /// Number of expected packets, from the first to the highest sequence number.
  public var expectedCount: UInt64 {
    self.isStarted ? UInt64(self.extendedHighestSequenceNumber &- self.baseSequenceNumber) + 1 : 0
  }

  /// Number of packets lost since the start; negative when duplicates outnumber losses.
  public var lostCount: Int64 {
    Int64(self.expectedCount) - Int64(clamping: self.receivedCount)
  }

  /// Interarrival jitter, in ticks of ``clockRate``.
  public var jitter: UInt32 {
    UInt32(clamping: self.scaledJitter >> 4)
  }

  /// Counts a packet.
  ///
  /// - Parameter arrival: Time of arrival, on any monotonic clock.
  @discardableResult
  public mutating func handle(_ header: RTPHeader, arrival: MediaTime) -> Verdict {
    let verdict = self.count(header.sequenceNumber)
    if verdict != .jump { self.updateJitter(timestamp: header.timestamp, arrival: arrival) }
    return verdict
  }

  /// Records a sender report of the source, for LSR and DLSR.
  public mutating func handle(_ report: RTCPSenderReport, arrival: MediaTime) {
    self.lastReport = (report.ntpTimestamp, arrival)
  }

  /// Returns the report block, and starts a new interval for its fraction lost.
  public mutating func makeReportBlock(ssrc: UInt32, now: MediaTime) -> RTCPReportBlock {
    let expected = self.expectedCount &- self.expectedPrior
    let received = self.receivedCount &- self.receivedPrior
    self.expectedPrior = self.expectedCount
    self.receivedPrior = self.receivedCount
    let fraction = expected > received ? min(255, (expected - received) * 256 / expected) : 0
    var block = RTCPReportBlock(
      ssrc: ssrc, fractionLost: UInt8(fraction),
      cumulativeLost: Int32(min(max(self.lostCount, -0x80_0000), 0x7F_FFFF)),
      extendedHighestSequenceNumber: self.extendedHighestSequenceNumber, jitter: self.jitter)
    if let last = self.lastReport {
      block.lastSenderReport = last.ntp.middle
      block.delaySinceLastSenderReport = UInt32(clamping: (now - last.arrival).ticks(timescale: 65_536))
    }
    return block
  }

  /// Classifies and counts a sequence number, RFC 3550 A.1.
  private mutating func count(_ number: UInt16) -> Verdict {
    guard self.isStarted else {
      self.start(at: number)
      return .inOrder
    }
    let advance = number &- self.highest
    if advance > 0, advance < Self.maximumDropout {
      if number < self.highest { self.cycles &+= 1 << 16 }
      self.highest = number
    } else if advance != 0, advance <= UInt16.max - Self.maximumMisorder {
      guard number == self.jumpSuccessor else {
        self.jumpSuccessor = number &+ 1
        return .jump
      }
      // Two consecutive numbers: the sender has restarted.
      self.start(at: number)
      return .inOrder
    }
    self.jumpSuccessor = nil
    self.receivedCount += 1
    return advance > 0 && advance < Self.maximumDropout ? .inOrder : .lateOrDuplicate
  }

  private mutating func start(at number: UInt16) {
    self.isStarted = true
    self.baseSequenceNumber = UInt32(number)
    self.highest = number
    self.cycles = 0
    self.jumpSuccessor = nil
    self.receivedCount = 1
    self.expectedPrior = 0
    self.receivedPrior = 0
    self.lastTransit = nil
  }

  /// Updates the jitter estimate in integers, RFC 3550 A.8.
  private mutating func updateJitter(timestamp: UInt32, arrival: MediaTime) {
    let transit = UInt32(truncatingIfNeeded: arrival.ticks(timescale: self.clockRate)) &- timestamp
    defer { self.lastTransit = transit }
    guard let lastTransit = self.lastTransit else { return }
    let difference = UInt64(Int32(bitPattern: transit &- lastTransit).magnitude)
    self.scaledJitter = self.scaledJitter + difference - ((self.scaledJitter + 8) >> 4)
  }
}
