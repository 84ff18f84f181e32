import Media
import RTP
import Testing

@testable import WebRTC

@Suite("Bandwidth estimator")
struct BandwidthEstimatorTests {
  private var estimator = BandwidthEstimator(bitrate: 1_000_000, bounds: 100_000...4_000_000)
  private var now = MediaTime.zero + .seconds(1)
  private var feedbackCount: UInt8 = 0

  /// Sends packets of 1000 bytes for 100 ms, evenly, and reports them: each one after `delay`, or nil for lost ones.
  private mutating func send(_ count: Int, delay: (Int) -> MediaDuration? = { _ in .milliseconds(20) }) {
    var arrivals: [(number: UInt16, time: MediaTime)] = []
    var first: UInt16?
    for index in 0..<count {
      let time = self.now + .microseconds(Int64(index) * 100_000 / Int64(count))
      let number = self.estimator.send(byteCount: 1000, at: time).rawValue
      first = first ?? number
      if let delay = delay(index) { arrivals.append((number, time + delay)) }
    }
    self.now += .milliseconds(100)
    guard let first else { return self.estimator.handleTimeout(at: self.now) }
    let reference = (arrivals.first?.time ?? self.now).ticks(timescale: 4000) / 256
    var last = reference * 256
    let deltas = arrivals.map { number, time in
      defer { last = time.ticks(timescale: 4000) }
      return RTCPTransportWideFeedback.Arrival(
        sequenceNumber: number, delta: Int16(time.ticks(timescale: 4000) - last))
    }
    self.feedbackCount &+= 1
    self.estimator.handle(
      RTCPTransportWideFeedback(
        baseSequenceNumber: first, statusCount: UInt16(count), referenceTime: Int32(reference),
        feedbackCount: self.feedbackCount, arrivals: deltas), at: self.now)
    self.estimator.handleTimeout(at: self.now)
  }

  @Test mutating func `the estimate rises by 8% a second while it is used, and to 150% of what arrives`() {
    for _ in 0..<10 { self.send(12) }
    #expect((1_070_000...1_085_000).contains(self.estimator.bitrate))
    for _ in 0..<100 { self.send(12) }
    // 960 kb/s arrive.
    #expect((1_430_000...1_450_000).contains(self.estimator.bitrate))
    #expect(self.estimator.roundTrip.map { $0 >= .milliseconds(1) } ?? false)
  }

  @Test mutating func `a client that claims that everything is lost gets the minimum bitrate, and recovers`() {
    for _ in 0..<10 { self.send(12) }
    for _ in 0..<200 { self.send(12) { _ in nil } }
    #expect(self.estimator.bitrate == 100_000 && self.estimator.capacity == 100_000)
    #expect(self.estimator.startProbe(at: self.now) == nil)
    #expect(self.estimator.lossShare == 1)
    for _ in 0..<600 { self.send(12) }
    #expect(self.estimator.bitrate >= 800_000)
  }

  @Test mutating func `loss that no bitrate changes is tolerated`() {
    for round in 0..<600 { self.send(20) { ($0 * 7 + round) % 20 < 4 ? nil : .milliseconds(20) } }
    #expect((0.19...0.21).contains(self.estimator.lossShare))
    // The estimate fell by a third or more before that was known.
    #expect(self.estimator.bitrate > 500_000)
  }

  @Test mutating func `growing delay lowers the estimate to 85% of what arrives, and less until the queue is empty`() {
    for _ in 0..<20 { self.send(12) }
    var delay: Int64 = 20
    var number = 0
    // The path carries half: each 8 ms of media take 16 ms.
    for _ in 0..<6 {
      self.send(12) { _ in
        number += 1
        delay += 8
        return .milliseconds(delay)
      }
    }
    #expect(self.estimator.isDraining)
    #expect(self.estimator.bitrate < 400_000 && self.estimator.capacity < 560_000)
    #expect(self.estimator.queueingDelay.map { $0 > .milliseconds(400) } ?? false)
    #expect(self.estimator.startProbe(at: self.now) == nil)
    for _ in 0..<10 { self.send(4) }
    #expect(!self.estimator.isDraining)
    #expect((350_000...500_000).contains(self.estimator.bitrate))
  }

  @Test mutating func `REMB bounds the estimate for ten seconds, unless it contradicts what arrives`() {
    for _ in 0..<20 { self.send(12) }
    let before = self.estimator.bitrate
    for bitrate: UInt64 in [0, 1, 99_999, 400_000] {
      self.estimator.handle(RTCPReceiverEstimatedBitrate(bitrate: bitrate, ssrcs: []), at: self.now)
      #expect(self.estimator.bitrate == before)
    }
    self.estimator.handle(RTCPReceiverEstimatedBitrate(bitrate: .max, ssrcs: []), at: self.now)
    #expect(self.estimator.bitrate == before)
    self.estimator.handle(RTCPReceiverEstimatedBitrate(bitrate: 700_000, ssrcs: []), at: self.now)
    #expect(self.estimator.bitrate == 700_000 && self.estimator.capacity == 700_000)
    for _ in 0..<99 { self.send(12) }
    #expect(self.estimator.bitrate == 700_000)
    self.send(12)
    #expect(self.estimator.bitrate > 1_000_000)
  }

  @Test mutating func `silence halves the estimate once, and a probe tries the former one again`() {
    for _ in 0..<20 { self.send(12) }
    let before = self.estimator.bitrate
    for _ in 0..<50 {
      _ = self.estimator.send(byteCount: 1000, at: self.now)
      self.now += .milliseconds(100)
      self.estimator.handleTimeout(at: self.now)
    }
    #expect(abs(self.estimator.bitrate - before / 2) <= 1)
    #expect(self.estimator.startProbe(at: self.now) == nil)
    var cluster: ProbeCluster?
    for _ in 0..<10 where cluster == nil {
      self.send(6)
      cluster = self.estimator.startProbe(at: self.now)
    }
    #expect((cluster?.bitrate ?? 0) >= before * 85 / 100)
  }

  @Test mutating func `a pause of the sender is no silence of the client`() {
    for _ in 0..<20 { self.send(12) }
    let before = self.estimator.bitrate
    // Frames are left out for two seconds; the packet behind them has no feedback yet.
    self.now += .seconds(2)
    self.estimator.handleTimeout(at: self.now)
    _ = self.estimator.send(byteCount: 1000, at: self.now)
    self.now += .milliseconds(100)
    self.estimator.handleTimeout(at: self.now)
    #expect(self.estimator.bitrate == before)
  }

  @Test mutating func `a probe that arrives as it was sent raises the estimate to its bitrate, another one does not`() {
    self.estimator.desiredBitrate = 2_000_000
    for (carried, range) in [(4_000_000.0, 1_850_000...2_000_000), (1_200_000.0, 1_000_000...1_160_000)] {
      var tests = self
      for _ in 0..<3 { tests.send(8) }
      let cluster = tests.estimator.startProbe(at: tests.now)
      #expect(cluster.map { (1_900_000...2_200_000).contains($0.bitrate) && $0.byteCount >= 7200 } ?? false)
      #expect(tests.estimator.startProbe(at: tests.now) == nil)
      guard let cluster else { continue }
      // Packets of 1200 bytes at the probe's bitrate, that arrive at what the path carries.
      let base = tests.now
      var (byteCount, deltas, last) = (
        0, [RTCPTransportWideFeedback.Arrival](), base.ticks(timescale: 4000) / 256 * 256
      )
      var first: UInt16?
      var arrival = base + .milliseconds(20)
      while byteCount < cluster.byteCount {
        let sent = base + MediaDuration(nanoseconds: Int64(Double(byteCount) * 8e9 / Double(cluster.bitrate)))
        let number = tests.estimator.send(byteCount: 1200, probe: cluster.id, at: sent).rawValue
        first = first ?? number
        byteCount += 1200
        arrival = max(arrival, sent + .milliseconds(20)) + MediaDuration(nanoseconds: Int64(1200 * 8e9 / carried))
        deltas.append(.init(sequenceNumber: number, delta: Int16(arrival.ticks(timescale: 4000) - last)))
        last = arrival.ticks(timescale: 4000)
      }
      tests.estimator.handle(
        RTCPTransportWideFeedback(
          baseSequenceNumber: first ?? 0, statusCount: UInt16(deltas.count),
          referenceTime: Int32(base.ticks(timescale: 4000) / 256), feedbackCount: 200, arrivals: deltas),
        at: base + .milliseconds(100))
      #expect(range.contains(tests.estimator.bitrate))
    }
  }

  @Test mutating func `without transport-wide feedback, receiver reports know loss and round trips`() {
    func report(_ loss: Double, _ roundTrip: Int64, sent: Int = 3_000_000, for seconds: Int) {
      for _ in 0..<seconds {
        self.now += .seconds(1)
        self.estimator.handleReceiverReport(
          lossShare: loss, roundTrip: .milliseconds(roundTrip), sentBitrate: sent, at: self.now)
      }
    }
    report(0, 50, for: 10)
    #expect((1_900_000...2_050_000).contains(self.estimator.bitrate))
    report(0.08, 50, for: 10)
    #expect((1_900_000...2_050_000).contains(self.estimator.bitrate))
    report(0.3, 50, for: 2)
    #expect((1_350_000...1_500_000).contains(self.estimator.bitrate))
    let before = self.estimator.bitrate
    report(0, 400, sent: before, for: 1)
    #expect(abs(self.estimator.bitrate - before * 85 / 100) <= 2)
    report(5, 400, for: 100)
    #expect(self.estimator.bitrate == 100_000)
    // Transport-wide feedback knows more.
    self.send(12)
    let known = self.estimator.bitrate
    self.estimator.handleReceiverReport(
      lossShare: 0, roundTrip: nil, sentBitrate: 9_000_000, at: self.now + .seconds(1))
    #expect(self.estimator.bitrate == known)
  }

  @Test mutating func `a bitrate that is tried is believed for a while, unless reports show that it is too much`() {
    func report(_ loss: Double, sent: Int) {
      self.now += .seconds(1)
      self.estimator.handleTimeout(at: self.now)
      self.estimator.handleReceiverReport(
        lossShare: loss, roundTrip: .milliseconds(50), sentBitrate: sent, at: self.now)
    }
    func estimate(_ bitrate: UInt64) {
      self.estimator.handle(RTCPReceiverEstimatedBitrate(bitrate: bitrate, ssrcs: []), at: self.now)
    }
    report(0, sent: 150_000)
    estimate(120_000)
    #expect(self.estimator.capacity == 120_000 && !self.estimator.isMeasurable(at: self.now))
    self.estimator.tryBitrate(1_500_000, at: self.now)
    for second in 1..<20 {
      report(0, sent: 1_100_000)
      estimate(UInt64(120_000 + 30_000 * second))
      #expect((1_500_000...1_650_000).contains(self.estimator.capacity))
    }
    report(0, sent: 1_100_000)
    // The receiver's estimate has not risen so far.
    #expect(self.estimator.capacity == 690_000 && self.estimator.bitrate == 690_000)
    // A path that does not carry it.
    self.estimator.tryBitrate(1_500_000, at: self.now)
    #expect(self.estimator.capacity >= 1_500_000)
    report(0.3, sent: 1_100_000)
    #expect(self.estimator.capacity == 690_000)
    // Transport-wide feedback is a measurement.
    self.send(12)
    let known = self.estimator.capacity
    self.estimator.tryBitrate(9_000_000, at: self.now)
    #expect(self.estimator.capacity == known && self.estimator.isMeasurable(at: self.now))
    // None comes while audio alone is sent.
    self.now += .seconds(3)
    self.estimator.tryBitrate(2_000_000, at: self.now)
    #expect(self.estimator.capacity == 2_000_000 && !self.estimator.isMeasurable(at: self.now))
  }

  @Test mutating func `no more is believed than is tried, where the receiver's own estimate was all that bounded it`() {
    self.estimator = BandwidthEstimator(bitrate: 4_000_000, bounds: 100_000...4_000_000)
    self.estimator.handle(RTCPReceiverEstimatedBitrate(bitrate: 120_000, ssrcs: []), at: self.now)
    self.estimator.tryBitrate(340_000, at: self.now)
    #expect(self.estimator.capacity == 340_000)
  }
}
