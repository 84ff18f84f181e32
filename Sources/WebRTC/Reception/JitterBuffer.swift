package import Media
package import RTP

/// Restores the order of a track's packets, waits for those that are missing, and requests them. Pure: `now` is an argument.
///
/// Packets in order pass at once; a depacketizer makes whole access units of them. A packet behind a gap waits for the missing ones:
/// until ``delay`` after the gap was noticed, when the missing ones are given up. Meanwhile they are requested (NACK, RFC 4585 §6.2.1),
/// as long as an answer can come in time.
///
/// The caller releases packets at ``nextDeadline``. Memory is bounded: ``maximumCount`` packets wait.
package struct JitterBuffer: Sendable {
  /// A packet that did not arrive, while packets behind it did.
  private struct Missing {
    /// Sequence number, extended beyond 16 bits.
    var number: Int64
    /// Time at which the first packet behind it arrived.
    var noticed: MediaTime
    var lastRequest: MediaTime?
    var requestCount = 0
  }

  /// Maximum of ``delay``, whatever the jitter.
  package static let maximumDelay = MediaDuration.milliseconds(150)
  /// Maximum number of packets that wait, and that are missing.
  package static let maximumCount = 1024
  /// Maximum number of packets that are requested at once.
  package static let maximumRequestCount = 256
  /// Round trip before it was measured.
  package static let presumedRoundTrip = MediaDuration.milliseconds(50)
  /// Time that a round trip may take longer than the measured one.
  private static let margin = MediaDuration.milliseconds(10)
  /// Minimum time between two requests for a packet.
  private static let minimumRequestInterval = MediaDuration.milliseconds(20)
  /// Maximum time for which a gap may be reordering, before its packets are requested.
  private static let maximumReordering = MediaDuration.milliseconds(10)
  /// Share by which the measured reordering decreases with each request, as it may have been an exception: 1 / 16.
  private static let reorderingDecay: Int64 = 16

  /// Time from a request to its answer, as most answers take at most; nil before it was measured.
  package private(set) var roundTrip: MediaDuration?
  /// Interarrival jitter, RFC 3550 §6.4.1.
  package var jitter = MediaDuration.zero

  /// Number of packets that were given up.
  package private(set) var lostPacketCount = 0
  /// Number of missing packets that arrived in time.
  package private(set) var recoveredPacketCount = 0

  /// The next number that is released; nil before the first packet.
  private var expected: Int64?
  /// The highest number that arrived.
  private var highest: Int64 = 0
  private var waiting: [Int64: RTPPacket] = [:]
  /// In ascending order; the first one is `expected` while packets wait.
  private var missing: [Missing] = []
  /// Packets that were given up after one request, and when that was made: their answers still measure the round trip.
  private var givenUp: [(number: Int64, request: MediaTime)] = []
  private var jumpSuccessor: UInt16?
  /// Time by which originals lately came behind their successors.
  private var reordering = MediaDuration.zero

  /// A buffer before the first packet.
  package init() {}

  /// Time from the notice of a gap until it is given up: `max(2 × jitter, round trip + 10 ms)`, at most ``maximumDelay``.
  package var delay: MediaDuration {
    let answer = (self.roundTrip ?? Self.presumedRoundTrip) + Self.margin
    return min(max(self.jitter * 2, answer), Self.maximumDelay)
  }

  /// Time at which ``release(at:)`` or ``requests(at:)`` is due; nil while no packet is missing.
  package var nextDeadline: MediaTime? {
    guard let first = self.missing.first else { return nil }
    var deadline = first.noticed + self.delay
    for missing in self.missing {
      if let due = self.requestTime(of: missing) { deadline = min(deadline, due) }
    }
    return deadline
  }

  /// Inserts a packet, and returns the packets that wait for no other one, in order.
  ///
  /// - Parameter isRetransmission: Whether it came as the answer to a request, RFC 4588; it is used when it is missing only.
  package mutating func insert(
    _ packet: RTPPacket, isRetransmission: Bool = false, at now: MediaTime
  ) -> [RTPPacket] {
    let value = packet.header.sequenceNumber
    guard let expected = self.expected else {
      // Senders may probe the bandwidth by retransmissions before the first packet.
      guard !isRetransmission else { return [] }
      self.highest = Int64(value)
      self.expected = Int64(value) + 1
      return [packet]
    }
    let number = self.highest + Int64(Int16(bitPattern: value &- UInt16(truncatingIfNeeded: self.highest)))
    if number > self.highest {
      // A packet that was never sent is not retransmitted.
      guard !isRetransmission else { return [] }
      guard number - self.highest <= Int64(Self.maximumCount) else { return self.jump(packet) }
      for skipped in self.highest + 1..<number { self.missing.append(Missing(number: skipped, noticed: now)) }
      self.highest = number
    } else if number < expected {
      guard isRetransmission || expected - number <= Int64(Self.maximumCount) else { return self.jump(packet) }
      if isRetransmission, let index = self.givenUp.firstIndex(where: { $0.number == number }) {
        self.noteRoundTrip(now - self.givenUp.remove(at: index).request)
      }
      return []
    } else {
      // One that is not missing arrived twice.
      guard let index = self.index(ofMissing: number) else { return [] }
      let filled = self.missing.remove(at: index)
      self.recoveredPacketCount += 1
      self.note(filled, isRetransmission: isRetransmission, at: now)
    }
    self.jumpSuccessor = nil
    self.waiting[number] = packet
    return self.drain(at: now)
  }

  /// Drops all packets: another source begins. Counters and round trip remain.
  package mutating func restart() {
    self.expected = nil
    self.waiting.removeAll()
    self.missing.removeAll()
    self.givenUp.removeAll()
    self.jumpSuccessor = nil
  }

  /// Stops waiting for the missing packets whose deadline has passed, and returns the packets behind them, in order.
  package mutating func release(at now: MediaTime) -> [RTPPacket] { self.drain(at: now) }

  /// The packets to request now, in order.
  package mutating func requests(at now: MediaTime) -> [UInt16] {
    var numbers: [UInt16] = []
    for index in self.missing.indices {
      guard let due = self.requestTime(of: self.missing[index]), due <= now,
        numbers.count < Self.maximumRequestCount
      else { continue }
      numbers.append(UInt16(truncatingIfNeeded: self.missing[index].number))
      self.missing[index].lastRequest = now
      self.missing[index].requestCount += 1
    }
    if !numbers.isEmpty { self.reordering = self.reordering - self.reordering / Self.reorderingDecay }
    return numbers
  }

  /// Time at which a packet is to be requested; nil when an answer would be too late.
  private func requestTime(of missing: Missing) -> MediaTime? {
    let roundTrip = self.roundTrip ?? Self.presumedRoundTrip
    let due =
      if let last = missing.lastRequest {
        last + max(roundTrip + Self.margin / 2, Self.minimumRequestInterval)
      } else {
        missing.noticed + min(self.reordering, Self.margin / 2)
      }
    return due + roundTrip <= missing.noticed + self.delay ? due : nil
  }

  /// Learns from a missing packet that arrived.
  private mutating func note(_ filled: Missing, isRetransmission: Bool, at now: MediaTime) {
    let lateness = now - filled.noticed
    if !isRetransmission, lateness <= Self.maximumReordering {
      self.reordering = max(self.reordering, lateness)
    }
    // Two requests leave open which of them was answered.
    if isRetransmission, filled.requestCount == 1, let request = filled.lastRequest {
      self.noteRoundTrip(now - request)
    }
  }

  /// Updates the estimate by a measured round trip: it follows longer ones fast and shorter ones slowly, since packets
  /// that arrive after the wait are lost.
  package mutating func noteRoundTrip(_ sample: MediaDuration) {
    self.roundTrip = self.roundTrip.map { $0 + (sample - $0) / (sample > $0 ? 2 : 16) } ?? sample
  }

  /// Drops a packet with a number far from all others, or restarts at it: the sender has restarted when a second packet
  /// follows such a one.
  private mutating func jump(_ packet: RTPPacket) -> [RTPPacket] {
    let number = packet.header.sequenceNumber
    guard number == self.jumpSuccessor else {
      self.jumpSuccessor = number &+ 1
      return []
    }
    let released = self.waiting.sorted { $0.key < $1.key }.map(\.value) + [packet]
    self.waiting.removeAll()
    self.missing.removeAll()
    self.givenUp.removeAll()
    self.jumpSuccessor = nil
    self.highest = Int64(number)
    self.expected = Int64(number) + 1
    return released
  }

  private mutating func drain(at now: MediaTime) -> [RTPPacket] {
    var released: [RTPPacket] = []
    guard var expected = self.expected else { return [] }
    while true {
      while let packet = self.waiting.removeValue(forKey: expected) {
        released.append(packet)
        expected += 1
      }
      guard let first = self.missing.first,
        now - first.noticed >= self.delay || self.waiting.count > Self.maximumCount
          || self.missing.count > Self.maximumCount
      else { break }
      // All packets up to the next one that waits are lost.
      let count = self.missing.indices.prefix { self.missing[$0].number == expected + Int64($0) }.count
      for lost in self.missing[..<count] where lost.requestCount == 1 {
        if let request = lost.lastRequest { self.givenUp.append((lost.number, request)) }
      }
      self.givenUp.removeFirst(max(0, self.givenUp.count - Self.maximumRequestCount))
      self.missing.removeFirst(count)
      self.lostPacketCount += count
      expected += Int64(count)
    }
    self.expected = expected
    return released
  }

  /// Position of a missing packet, by bisection.
  private func index(ofMissing number: Int64) -> Int? {
    var (low, high) = (0, self.missing.count)
    while low < high {
      let middle = (low + high) / 2
      if self.missing[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low < self.missing.count && self.missing[low].number == number ? low : nil
  }
}
