package import Media
package import RTP
internal import TestSupport

/// A path to a client in virtual time: random loss, a queue before a rate that varies, delay, jitter, reordering,
/// duplication, outages; and the client, which sends transport-wide feedback on a clock of its own.
package struct SimulatedPath {
  package struct Conditions {
    /// Bits per second from a time in seconds on, ordered by time.
    package var rates: [(from: Double, bitrate: Double)] = [(0, 4_000_000)]
    /// Bytes that the queue holds.
    package var queueLength = 250_000
    /// Delay of one direction.
    package var delay = MediaDuration.milliseconds(25)
    /// Maximum further delay of a packet in milliseconds; packets stay in order.
    package var jitter = 0.0
    /// Share of packets lost at random, between two times in seconds.
    package var loss: (share: Double, times: Range<Double>) = (0, 0..<0)
    /// Share of packets that arrive 5 to 30 ms later than others, or twice.
    package var reordering = 0.0
    package var duplication = 0.0
    /// Seconds in which nothing arrives, in both directions.
    package var outage = 0.0..<0.0
    /// Seconds by which the client's clock is set, from a time on.
    package var clockStep: (seconds: Double, from: Double) = (0, .infinity)
    /// Mean seconds between two stalls of the client, and their maximum length: a busy machine, whose network thread finds all packets
    /// of a stall at its end, and sends no feedback meanwhile.
    package var stalls: (interval: Double, maximum: Double) = (.infinity, 0)
    /// Time between feedback.
    package var feedbackInterval = MediaDuration.milliseconds(50)
    /// Parts of a million by which the client's clock is fast.
    package var drift = 0.0

    /// 4 Mb/s with 25 ms of delay.
    package init() {}
  }

  private struct Arrival {
    var time: MediaTime
    var number: UInt16
  }

  package let conditions: Conditions
  private var numbers: SplitMix
  private var busyUntil = MediaTime.zero
  private var lastArrival = MediaTime.zero
  private var arrivals: [Arrival] = []
  /// Whether a number arrived, of the last half of all numbers.
  private var hasArrived = [Bool](repeating: false, count: 65_536)
  private var expected: UInt16 = 0
  private var feedbackCount: UInt8 = 0
  package private(set) var nextFeedback: MediaTime
  private var stallNumbers: SplitMix
  /// The current or next stall of the client, in seconds.
  private var stall = 0.0..<0.0
  package private(set) var droppedCount = 0
  package private(set) var lostCount = 0

  package init(_ conditions: Conditions, seed: UInt64) {
    self.conditions = conditions
    self.numbers = SplitMix(seed: seed)
    self.stallNumbers = SplitMix(seed: seed &+ 77)
    self.nextFeedback = .zero + conditions.feedbackInterval
  }

  package func rate(at time: MediaTime) -> Double {
    self.conditions.rates.last { $0.from <= time.seconds }!.bitrate
  }

  /// Time that a packet waits in the queue.
  package func queueDelay(at now: MediaTime) -> Double { max(self.busyUntil - now, .zero).seconds }

  /// Sends a datagram.
  ///
  /// - Returns: When it arrives; nil when it is lost.
  @discardableResult
  package mutating func send(_ number: UInt16?, byteCount: Int, at now: MediaTime) -> MediaTime? {
    let conditions = self.conditions
    if conditions.outage.contains(now.seconds) { return nil }
    if conditions.loss.times.contains(now.seconds), self.chance(conditions.loss.share) {
      self.lostCount += 1
      return nil
    }
    let start = max(now, self.busyUntil)
    let rate = self.rate(at: start)
    guard (start - now).seconds * rate / 8 <= Double(conditions.queueLength) else {
      self.droppedCount += 1
      return nil
    }
    self.busyUntil = start + MediaDuration(nanoseconds: Int64(Double(byteCount) * 8 / rate * 1e9))
    var arrival = self.busyUntil + conditions.delay
    if conditions.jitter > 0 {
      arrival += .microseconds(Int64(Double.random(in: 0...conditions.jitter, using: &self.numbers) * 1000))
    }
    if self.chance(conditions.reordering) {
      arrival += .milliseconds(Int64.random(in: 5...30, using: &self.numbers))
    } else {
      arrival = max(arrival, self.lastArrival)
      self.lastArrival = arrival
    }
    arrival = self.noticed(arrival)
    guard let number else { return arrival }
    self.insert(Arrival(time: arrival, number: number))
    if self.chance(conditions.duplication) { self.insert(Arrival(time: arrival + .milliseconds(3), number: number)) }
    return arrival
  }

  /// Time at which the client notices a packet: the end of the stall in which it arrives.
  private mutating func noticed(_ arrival: MediaTime) -> MediaTime {
    let (interval, maximum) = self.conditions.stalls
    guard maximum > 0 else { return arrival }
    while self.stall.upperBound <= arrival.seconds {
      let start = self.stall.upperBound + Double.random(in: 0...2 * interval, using: &self.stallNumbers)
      self.stall = start..<start + Double.random(in: 0...maximum, using: &self.stallNumbers)
    }
    guard self.stall.contains(arrival.seconds) else { return arrival }
    return .zero + MediaDuration(nanoseconds: Int64(self.stall.upperBound * 1e9))
  }

  private mutating func chance(_ share: Double) -> Bool {
    share > 0 && Double.random(in: 0..<1, using: &self.numbers) < share
  }

  private mutating func insert(_ arrival: Arrival) {
    var index = self.arrivals.count
    while index > 0, self.arrivals[index - 1].time > arrival.time { index -= 1 }
    self.arrivals.insert(arrival, at: index)
  }

  /// Makes the client's feedback about what arrived until now.
  ///
  /// - Returns: The feedback, and when it is here; nil when nothing arrived, or it is lost.
  package mutating func makeFeedback() -> (feedback: RTCPTransportWideFeedback, time: MediaTime)? {
    // A stall ends with feedback.
    let now = self.nextFeedback
    self.nextFeedback += self.conditions.feedbackInterval
    let count = self.arrivals.firstIndex { $0.time > now } ?? self.arrivals.count
    var arrived: [(number: UInt16, time: MediaTime)] = []
    for arrival in self.arrivals.prefix(count) where !self.hasArrived[Int(arrival.number)] {
      arrived.append((arrival.number, arrival.time))
      self.hasArrived[Int(arrival.number)] = true
      self.hasArrived[Int(arrival.number &+ 32_768)] = false
    }
    self.arrivals.removeFirst(count)
    guard !arrived.isEmpty else { return nil }
    let expected = self.expected
    func position(_ number: UInt16) -> Int { Int(Int16(bitPattern: number &- expected)) }
    arrived.sort { position($0.number) < position($1.number) }
    let base = position(arrived[0].number) < 0 ? arrived[0].number : expected
    let end = max(position(arrived.last!.number) + 1, 0)
    self.expected = expected &+ UInt16(end)
    let isLost =
      self.conditions.outage.contains(now.seconds)
      || (self.conditions.loss.times.contains(now.seconds) && self.chance(self.conditions.loss.share))
    self.feedbackCount &+= 1
    guard !isLost else { return nil }

    // The client's clock, in units of 250 µs, from a zero of its own.
    func ticks(_ time: MediaTime) -> Int64 {
      let step = time.seconds >= self.conditions.clockStep.from ? self.conditions.clockStep.seconds : 0
      return Int64((time.seconds * (1 + self.conditions.drift / 1e6) + 1000 + step) * 4000)
    }
    let reference = ticks(arrived[0].time) / 256
    var last = reference * 256
    var deltas: [RTCPTransportWideFeedback.Arrival] = []
    for (number, time) in arrived {
      guard let delta = Int16(exactly: ticks(time) - last) else { continue }
      deltas.append(.init(sequenceNumber: number, delta: delta))
      last += Int64(delta)
    }
    return (
      RTCPTransportWideFeedback(
        baseSequenceNumber: base, statusCount: (expected &+ UInt16(end)) &- base,
        referenceTime: Int32(truncatingIfNeeded: reference), feedbackCount: self.feedbackCount, arrivals: deltas),
      now + self.conditions.delay
    )
  }
}
