import Media
import RTP
import Testing
import WebRTC

@Suite("Transport-wide sequence numbers")
struct TransportWideHistoryTests {
  private var history = TransportWideHistory()

  /// Sends packets of 100 bytes and more, one in 10 ms.
  private mutating func send(_ count: Int) {
    for index in 0..<count {
      _ = self.history.send(byteCount: 100 + index, at: .zero + .milliseconds(Int64(10 * index)))
    }
  }

  private static func feedback(
    _ base: UInt16, count: UInt16, referenceTime: Int32 = 0, _ arrivals: [(UInt16, Int16)]
  ) -> RTCPTransportWideFeedback {
    RTCPTransportWideFeedback(
      baseSequenceNumber: base, statusCount: count, referenceTime: referenceTime, feedbackCount: 0,
      arrivals: arrivals.map { .init(sequenceNumber: $0.0, delta: $0.1) })
  }

  @Test mutating func `arrivals have the client's time, the others are lost`() {
    self.send(4)
    let reports = self.history.handle(Self.feedback(0, count: 4, referenceTime: 2, [(0, 4), (2, -4), (3, 40)]))
    #expect(reports.map(\.number) == [0, 1, 2, 3] && reports.map(\.byteCount) == [100, 101, 102, 103])
    #expect(reports.map(\.sent.nanoseconds) == [0, 10_000_000, 20_000_000, 30_000_000])
    #expect(reports.map(\.arrival?.nanoseconds) == [129_000_000, nil, 128_000_000, 138_000_000])
  }

  @Test mutating func `a packet is reported once as lost and once as arrived`() {
    self.send(3)
    let first = self.history.handle(Self.feedback(0, count: 3, [(0, 1), (2, 1)]))
    #expect(first.map(\.arrival?.nanoseconds) == [250_000, nil, 500_000])
    #expect(self.history.handle(Self.feedback(0, count: 3, [(0, 1), (2, 1)])) == [])
    let late = self.history.handle(Self.feedback(0, count: 3, [(0, 1), (1, 8), (2, 1)]))
    #expect(late.map(\.number) == [1] && late[0].arrival == .zero + .microseconds(2250))
  }

  @Test mutating func `numbers wrap at 16 bits`() {
    for index in 0..<70_000 { _ = self.history.send(byteCount: 1, at: .zero + .microseconds(Int64(index))) }
    #expect(self.history.count == TransportWideHistory.maximumCount)
    // 69,999 is 4463 modulo 65,536.
    let reports = self.history.handle(Self.feedback(4460, count: 4, [(4460, 1), (4463, 1)]))
    #expect(reports.map(\.number) == [69_996, 69_997, 69_998, 69_999])
    #expect(reports.map { $0.arrival != nil } == [true, false, false, true])
  }

  @Test mutating func `feedback about packets that were not sent, or are forgotten, is ignored`() {
    #expect(self.history.handle(Self.feedback(0, count: 10, [(0, 1)])) == [])
    self.send(3)
    #expect(self.history.handle(Self.feedback(3, count: 60_000, [(3, 1), (100, 1)])) == [])
    #expect(self.history.handle(Self.feedback(65_000, count: 530, [(65_000, 1)])) == [])
    #expect(self.history.handle(Self.feedback(65_535, count: 65_535, [(65_535, 1)])).map(\.number) == [0, 1, 2])
  }

  @Test mutating func `packets are forgotten after their lifetime`() {
    self.send(3)
    let number = self.history.send(byteCount: 1, at: .zero + .seconds(60))
    #expect(number.rawValue == 3 && self.history.count == 1)
    #expect(self.history.handle(Self.feedback(0, count: 4, [(3, 1)])).map(\.number) == [3])
  }

  @Test mutating func `the reference time wraps at 24 bits`() {
    self.send(4)
    let last: Int32 = 0x7F_FFFF
    let first = self.history.handle(Self.feedback(0, count: 1, referenceTime: last, [(0, 0)]))
    let second = self.history.handle(Self.feedback(1, count: 1, referenceTime: -0x80_0000, [(1, 0)]))
    let third = self.history.handle(Self.feedback(2, count: 1, referenceTime: last, [(2, 0)]))
    #expect(first[0].arrival == .zero + .milliseconds(Int64(last) * 64))
    #expect(second[0].arrival == .zero + .milliseconds((Int64(last) + 1) * 64))
    #expect(third[0].arrival == first[0].arrival)
  }
  @Test func `a client whose times run ahead by days with each report does no harm`() throws {
    var estimator = BandwidthEstimator(bitrate: 1_000_000, bounds: 100_000...10_000_000)
    var reference: UInt32 = 0
    for index in 0..<40_000 {
      let now = MediaTime.zero + .milliseconds(Int64(index))
      let number = estimator.send(byteCount: 100, at: now).rawValue
      reference &+= index < 20_000 ? 0x7F_FFFF : 0x80_0001
      let value = Int32(bitPattern: reference << 8) >> 8
      let arrivals: [(UInt16, Int16)] = index % 2 == 0 ? [] : [(number, Int16(4))]
      estimator.handle(
        Self.feedback(number, count: UInt16(arrivals.count), referenceTime: value, arrivals), at: now)
    }
    #expect((100_000...10_000_000).contains(estimator.bitrate))
  }
}
