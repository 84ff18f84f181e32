package import Media
package import RTP

/// Arrival times of all packets of a publisher, which its estimate of the bandwidth needs,
/// draft-holmer-rmcat-transport-wide-cc-extensions-01. Pure: `now` is an argument.
///
/// Feedback is due 100 ms after the last one; after 50 ms when many packets arrived.
package struct TransportWideArrivals: Sendable {
  /// Minimum time between two feedback packets.
  package static let minimumInterval = MediaDuration.milliseconds(50)
  /// Maximum time from an arrival to its feedback.
  package static let maximumInterval = MediaDuration.milliseconds(100)
  /// Number of arrivals after which the minimum interval suffices.
  package static let manyArrivals = 20
  /// Maximum number of packets that a feedback covers, so that it fits a datagram: 1 to 2 bytes of delta each, and chunks.
  package static let maximumStatusCount = 400
  /// Maximum number of packets from the last feedback to an arrival; a larger gap is a restart.
  private static let maximumGap: Int64 = 4096
  /// Maximum number of arrivals that wait: more than arrive in 100 ms at 100 Mb/s.
  private static let maximumPendingCount = 2000

  private struct Arrival {
    var number: Int64
    var time: MediaTime
  }

  /// In the order of their numbers.
  private var pending: [Arrival] = []
  /// Number behind the last one that was reported, extended beyond 16 bits.
  private var base: Int64?
  /// Starts beyond 16 bits, so that no number is negative.
  private var highest: Int64 = 1 << 32
  private var received = ReplayWindow()
  private var lastFeedback: MediaTime?
  private var feedbackCount: UInt8 = 0

  /// No packet has arrived yet.
  package init() {}

  /// Time at which ``makeFeedback(at:)`` is due; nil without arrivals.
  package var nextDeadline: MediaTime? {
    guard let first = self.pending.first else { return nil }
    let interval = self.pending.count >= Self.manyArrivals ? Self.minimumInterval : Self.maximumInterval
    return (self.lastFeedback ?? first.time) + interval
  }

  /// Records a packet; one that arrives twice counts once.
  package mutating func handle(_ number: RTPTransportWideSequenceNumber, at now: MediaTime) {
    let value = number.rawValue
    if self.base == nil {
      self.highest = self.highest &+ Int64(value)
      self.base = self.highest
    }
    let distance = Int64(Int16(bitPattern: value &- UInt16(truncatingIfNeeded: self.highest)))
    let extended = self.highest + distance
    guard extended > 0, self.received.accepts(UInt64(extended)), self.pending.count < Self.maximumPendingCount else {
      return
    }
    self.received.insert(UInt64(extended))
    self.highest = max(self.highest, extended)
    var index = self.pending.endIndex
    while index > 0, self.pending[index - 1].number > extended { index -= 1 }
    self.pending.insert(Arrival(number: extended, time: now), at: index)
  }

  /// Feedback on what arrived since the last one, in the order in which it is to be sent; several where one would be too long.
  package mutating func makeFeedback(at now: MediaTime) -> [RTCPTransportWideFeedback] {
    guard let first = self.pending.first, let base = self.base else { return [] }
    var feedback: [RTCPTransportWideFeedback] = []
    // A late packet is reported with those behind it; what a restart skipped is not reported as lost.
    var start = first.number - base > Self.maximumGap ? first.number : min(base, first.number)
    var current: RTCPTransportWideFeedback?
    /// Time of the last arrival, in 250 µs.
    var last: Int64 = 0
    func finish(_ current: inout RTCPTransportWideFeedback?) {
      if let current { feedback.append(current) }
      current = nil
    }
    for arrival in self.pending {
      let ticks = Self.ticks(arrival.time)
      if current != nil,
        arrival.number - start >= Int64(Self.maximumStatusCount) || Int16(exactly: ticks - last) == nil
      {
        finish(&current)
        start = start + Int64(feedback.last?.statusCount ?? 0)
      }
      if current == nil {
        // Packets that are missing before the first arrival are covered as far as they fit.
        start = max(start, arrival.number - Int64(Self.maximumStatusCount) + 1)
        let reference = ticks >> 8
        last = reference << 8
        current = RTCPTransportWideFeedback(
          baseSequenceNumber: UInt16(truncatingIfNeeded: start), statusCount: 0,
          // 24 bits with a sign.
          referenceTime: (Int32(truncatingIfNeeded: reference) << 8) >> 8, feedbackCount: self.feedbackCount,
          arrivals: [])
        self.feedbackCount &+= 1
      }
      // No trap: the delta was checked, or is within a reference time of 64 ms.
      current?.arrivals.append(
        .init(sequenceNumber: UInt16(truncatingIfNeeded: arrival.number), delta: Int16(ticks - last)))
      current?.statusCount = UInt16(arrival.number - start + 1)
      last = ticks
    }
    finish(&current)
    self.base = max(base, self.pending[self.pending.count - 1].number + 1)
    self.pending.removeAll(keepingCapacity: true)
    self.lastFeedback = now
    return feedback
  }

  /// A time in units of 250 µs.
  private static func ticks(_ time: MediaTime) -> Int64 {
    // Rounded down below zero as well.
    time.ticks(timescale: 4000)
  }
}
