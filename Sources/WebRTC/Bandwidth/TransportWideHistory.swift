package import Media
package import RTP

/// Packets that were sent with transport-wide sequence numbers, and what the client reports of their arrival,
/// draft-holmer-rmcat-transport-wide-cc-extensions-01.
///
/// One history covers all sources of a client: video, audio, retransmissions and padding. Bounded by ``maximumCount`` and
/// ``lifetime``; feedback about older packets is ignored.
package struct TransportWideHistory: Sendable {
  /// Sending and arrival of a packet that feedback has reported.
  package struct Report: Hashable, Sendable {
    /// The number, extended beyond 16 bits.
    package var number: Int64
    /// Length of the datagram in bytes.
    package var byteCount: Int
    /// Time at which the packet was sent, on the stream's clock.
    package var sent: MediaTime
    /// Time at which the packet arrived, on the client's clock, whose zero is unknown; nil when it is lost, or not arrived yet.
    package var arrival: MediaTime?
    /// The probe cluster that the packet belongs to; 0 for none.
    package var probe: UInt32 = 0
  }

  /// 16 bytes: a session keeps hundreds.
  private struct Packet {
    var sent: MediaTime
    var probe: UInt32
    /// Length of the datagram, which has at most 65,507 bytes.
    var byteCount: UInt16
    var hasArrived = false
    var isReportedLost = false

    /// Whether nothing more is expected: what was reported as lost may have been reordered.
    func isDone(at now: MediaTime) -> Bool {
      self.hasArrived || now - self.sent > (self.isReportedLost ? .seconds(1) : TransportWideHistory.lifetime)
    }
  }

  /// Maximum number of packets that wait for feedback; the oldest are forgotten.
  package static let maximumCount = 2048
  /// Time for which packets wait for feedback.
  package static let lifetime = MediaDuration.seconds(5)
  /// Maximum extended reference time: two years in units of 64 ms.
  private static let maximumReferenceTime: Int64 = 1 << 30

  /// An array, whose members a debug build reads a hundred times as fast as those of a ring.
  private var packets: [Packet] = []
  /// Number of packets at the front that are forgotten.
  private var head = 0
  /// Sequence number of the first packet behind them.
  private var firstNumber: Int64 = 0
  /// The last reference time of the client in units of 64 ms, extended beyond 24 bits.
  private var lastReferenceTime: Int64?

  /// A history before the first packet.
  package init() {}

  /// Number of packets that wait for feedback, or for their age.
  package var count: Int { self.packets.count - self.head }

  /// Records a packet that is sent.
  ///
  /// - Parameters:
  ///   - byteCount: Length of the datagram.
  ///   - probe: The probe cluster that the packet belongs to; 0 for none.
  /// - Returns: Its sequence number.
  package mutating func send(
    byteCount: Int, probe: UInt32 = 0, at now: MediaTime
  ) -> RTPTransportWideSequenceNumber {
    while self.count > 0, self.count >= Self.maximumCount || self.packets[self.head].isDone(at: now) {
      self.head += 1
      self.firstNumber += 1
    }
    // Amortized: each packet is moved once.
    if self.head > 0, self.head * 2 >= self.packets.count {
      self.packets.removeFirst(self.head)
      self.head = 0
    }
    let number = self.firstNumber + Int64(self.count)
    self.packets.append(Packet(sent: now, probe: probe, byteCount: UInt16(clamping: byteCount)))
    return RTPTransportWideSequenceNumber(rawValue: UInt16(truncatingIfNeeded: number))
  }

  /// Matches feedback with the packets that were sent.
  ///
  /// A packet is reported once as lost and once as arrived: one that was reordered, or whose feedback was lost, may be both.
  ///
  /// - Returns: Reports in the order of the numbers.
  package mutating func handle(_ feedback: RTCPTransportWideFeedback) -> [Report] {
    guard let base = self.number(of: feedback.baseSequenceNumber) else { return [] }
    var arrival = MediaTime.zero + .milliseconds(self.referenceTime(feedback.referenceTime) * 64)
    var reports: [Report] = []
    var next = base
    for packet in feedback.arrivals {
      arrival += .microseconds(Int64(packet.delta) * 250)
      let number = base + Int64(packet.sequenceNumber &- feedback.baseSequenceNumber)
      self.reportLost(next..<max(next, number), into: &reports)
      next = number + 1
      guard let index = self.index(of: number), !self.packets[index].hasArrived else { continue }
      self.packets[index].hasArrived = true
      reports.append(self.report(number, self.packets[index], arrival: arrival))
    }
    self.reportLost(next..<max(next, base + Int64(feedback.statusCount)), into: &reports)
    return reports
  }

  /// Reports packets without an arrival; those that were never sent, or are too old, are left out.
  private mutating func reportLost(_ numbers: Range<Int64>, into reports: inout [Report]) {
    for number in numbers.clamped(to: self.firstNumber..<self.firstNumber + Int64(self.count)) {
      guard let index = self.index(of: number), !self.packets[index].hasArrived, !self.packets[index].isReportedLost
      else { continue }
      self.packets[index].isReportedLost = true
      reports.append(self.report(number, self.packets[index], arrival: nil))
    }
  }

  private func report(_ number: Int64, _ packet: Packet, arrival: MediaTime?) -> Report {
    Report(number: number, byteCount: Int(packet.byteCount), sent: packet.sent, arrival: arrival, probe: packet.probe)
  }

  /// Extends a number of 16 bits to the nearest one of the last that was sent; nil before the first packet.
  private func number(of value: UInt16) -> Int64? {
    guard self.count > 0 else { return nil }
    let last = self.firstNumber + Int64(self.count) - 1
    return last + Int64(Int16(bitPattern: value &- UInt16(truncatingIfNeeded: last)))
  }

  private func index(of number: Int64) -> Int? {
    let offset = number - self.firstNumber
    guard offset >= 0, offset < self.count else { return nil }
    return self.head + Int(offset)
  }

  /// Extends a reference time of 24 bits, which wraps after 12 days. A client whose times move on by years is lying, or has been
  /// away: its times begin again.
  private mutating func referenceTime(_ value: Int32) -> Int64 {
    guard let last = self.lastReferenceTime else {
      self.lastReferenceTime = Int64(value)
      return Int64(value)
    }
    // The shifts carry the sign of 24 bits into 32.
    let difference = ((value &- Int32(truncatingIfNeeded: last)) << 8) >> 8
    let extended = last + Int64(difference)
    let isPlausible = abs(extended) <= Self.maximumReferenceTime
    self.lastReferenceTime = isPlausible ? extended : Int64(value)
    return self.lastReferenceTime ?? extended
  }
}
