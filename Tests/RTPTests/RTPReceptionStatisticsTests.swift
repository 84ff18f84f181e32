import Media
import RTP
import Testing

@Suite("Reception statistics, RFC 3550 A.1, A.3, A.8")
struct RTPReceptionStatisticsTests {
  @Test func `loss is counted in total and since the last report`() {
    var statistics = RTPReceptionStatistics(clockRate: 90_000)
    for number: UInt16 in [10, 11, 13, 14] { statistics.handle(Self.header(number), arrival: .zero) }
    let first = statistics.makeReportBlock(ssrc: 7, now: .zero)
    #expect(first.cumulativeLost == 1)
    #expect(first.fractionLost == 51)  // 256 / 5
    #expect(first.extendedHighestSequenceNumber == 14)
    #expect(first.lastSenderReport == 0)
    for number: UInt16 in [15, 16] { statistics.handle(Self.header(number), arrival: .zero) }
    let second = statistics.makeReportBlock(ssrc: 7, now: .zero)
    #expect(second.cumulativeLost == 1)
    #expect(second.fractionLost == 0)
  }

  @Test func `wraps of the sequence number are counted`() {
    var statistics = RTPReceptionStatistics(clockRate: 90_000)
    for number: UInt16 in [0xFFFE, 0xFFFF, 0, 1] {
      #expect(statistics.handle(Self.header(number), arrival: .zero) == .inOrder)
    }
    #expect(statistics.extendedHighestSequenceNumber == 0x1_0001)
    #expect(statistics.expectedCount == 4)
    #expect(statistics.lostCount == 0)
  }

  @Test func `duplicates make the loss negative and late packets reduce it`() {
    var statistics = RTPReceptionStatistics(clockRate: 90_000)
    for number: UInt16 in [1, 3, 2, 3] { statistics.handle(Self.header(number), arrival: .zero) }
    #expect(statistics.lostCount == -1)
    let block = statistics.makeReportBlock(ssrc: 7, now: .zero)
    #expect(block.cumulativeLost == -1)
    #expect(block.fractionLost == 0)
    #expect(statistics.handle(Self.header(2), arrival: .zero) == .lateOrDuplicate)
  }

  @Test func `one packet far ahead is ignored, two consecutive packets restart the statistics`() {
    var statistics = RTPReceptionStatistics(clockRate: 90_000)
    statistics.handle(Self.header(1), arrival: .zero)
    #expect(statistics.handle(Self.header(20_000), arrival: .zero) == .jump)
    #expect(statistics.handle(Self.header(2), arrival: .zero) == .inOrder)
    #expect(statistics.handle(Self.header(20_000), arrival: .zero) == .jump)
    #expect(statistics.handle(Self.header(20_001), arrival: .zero) == .inOrder)
    #expect(statistics.extendedHighestSequenceNumber == 20_001)
    #expect(statistics.lostCount == 0)
  }

  @Test func `jitter follows A 8 and is zero for evenly spaced packets`() {
    var even = RTPReceptionStatistics(clockRate: 90_000)
    var uneven = RTPReceptionStatistics(clockRate: 90_000)
    for index in 0..<100 {
      let header = Self.header(UInt16(index), timestamp: 0xFFFF_0000 &+ UInt32(index) * 3000)
      let time = MediaTime(ticks: Int64(index) * 3000, timescale: 90_000) + MediaDuration(nanoseconds: 1)
      even.handle(header, arrival: time)
      uneven.handle(header, arrival: time + .milliseconds(index % 2 == 0 ? 0 : 10))
    }
    #expect(even.jitter == 0)
    // Each spacing is off by 10 ms, 900 ticks, which the mean approaches from below.
    #expect((850...900).contains(uneven.jitter))
  }

  @Test func `the delay since the last sender report is in 65 536th s`() {
    var statistics = RTPReceptionStatistics(clockRate: 90_000)
    statistics.handle(
      RTCPSenderReport(
        ssrc: 7, ntpTimestamp: NTPTimestamp(rawValue: 0x0123_4567_89AB_CDEF), rtpTimestamp: 0, packetCount: 0,
        octetCount: 0), arrival: .zero)
    let block = statistics.makeReportBlock(ssrc: 7, now: MediaTime(nanoseconds: 1_500_000_000))
    #expect(block.lastSenderReport == 0x4567_89AB)
    #expect(block.delaySinceLastSenderReport == 98_304)
  }

  private static func header(_ number: UInt16, timestamp: UInt32 = 0) -> RTPHeader {
    RTPHeader(marker: false, payloadType: 96, sequenceNumber: number, timestamp: timestamp, ssrc: 7)
  }
}
