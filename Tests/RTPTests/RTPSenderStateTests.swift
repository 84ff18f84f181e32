import Media
import NIOCore
import Testing

@testable import RTP

@Suite("Sender state, RFC 3550 §5.1 and §6.4.1")
struct RTPSenderStateTests {
  private static func state(clockRate: Int32 = 90_000, offset: UInt32 = 0, first: UInt16 = 0) -> RTPSenderState {
    RTPSenderState(
      ssrc: 0xCAFE_F00D, payloadType: 96, clockRate: clockRate, timestampOffset: offset, firstSequenceNumber: first)
  }

  @Test func `headers count from the first sequence number and wrap`() {
    var state = Self.state(first: 0xFFFE)
    let headers = (0..<3).map { state.nextHeader(marker: $0 == 1, timestamp: UInt32($0), payloadLength: 10) }
    #expect(headers.map(\.sequenceNumber) == [0xFFFE, 0xFFFF, 0])
    #expect(headers.map(\.marker) == [false, true, false] && headers.map(\.timestamp) == [0, 1, 2])
    #expect(headers.allSatisfy { $0.ssrc == 0xCAFE_F00D && $0.payloadType == 96 })
    #expect(state.nextSequenceNumber == 1 && state.packetCount == 3 && state.octetCount == 30)
  }

  @Test(
    arguments: [
      (0, 90_000, 7, 7), (1_000_000_000, 90_000, 0, 90_000), (1_000_000_000, 44_100, 0, 44_100),
      // One tick before the wrap, and at it.
      (1_000_000_000, 90_000, 0xFFFE_A06F, 0xFFFF_FFFF), (1_000_000_000, 90_000, 0xFFFE_A070, 0),
      // Before the clock's zero.
      (-1, 90_000, 0, 0xFFFF_FFFF), (-1_000_000_000, 90_000, 90_000, 0),
      // 2³² ticks of 90 kHz are 13 hours and a quarter.
      (47_721_858_844_445, 90_000, 5, 5),
    ] as [(Int64, Int32, UInt32, UInt32)])
  func `a timestamp is the time in ticks from a random offset, modulo 2³²`(
    nanoseconds: Int64, clockRate: Int32, offset: UInt32, timestamp: UInt32
  ) {
    let state = Self.state(clockRate: clockRate, offset: offset)
    #expect(state.timestamp(at: MediaTime(nanoseconds: nanoseconds)) == timestamp)
  }

  @Test func `audio of a day has the timestamps of its samples`() {
    let state = Self.state(clockRate: 44_100)
    for frame in stride(from: Int64(0), to: 86_400 * 44_100 / 1024, by: 9973) {
      // The nanosecond that was lost to rounding.
      let time = MediaTime(ticks: frame * 1024, timescale: 44_100) + MediaDuration(nanoseconds: 1)
      #expect(state.timestamp(at: time) == UInt32(truncatingIfNeeded: frame * 1024))
    }
  }

  @Test func `sender reports of two tracks map one instant to one wall-clock time`() {
    let video = Self.state(offset: 1_000_000)
    let audio = Self.state(clockRate: 48_000, offset: 77)
    let time = MediaTime.zero + .milliseconds(1500)
    let unix: Int64 = 1_795_246_863_250_000_000
    let reports = [video, audio].map { $0.senderReport(at: time, unixNanoseconds: unix) }
    #expect(reports[0].ntpTimestamp == reports[1].ntpTimestamp)
    #expect(reports[0].ntpTimestamp.unixNanoseconds == unix)
    #expect(reports.map(\.rtpTimestamp) == [1_135_000, 72_077])
    #expect(reports.allSatisfy { $0.packetCount == 0 && $0.octetCount == 0 && $0.reportBlocks.isEmpty })
  }

  @Test func `counts of a report wrap at 32 bits`() {
    var state = Self.state()
    for _ in 0..<3 { _ = state.nextHeader(marker: false, timestamp: 0, payloadLength: 0x8000_0001) }
    #expect(state.octetCount == 0x8000_0003)
    #expect(state.senderReport(at: .zero, unixNanoseconds: 0).octetCount == 0x8000_0003)
    #expect(state.senderReport(at: .zero, unixNanoseconds: 0).packetCount == 3)
  }
}

@Suite("Order of sequence numbers")
struct SequenceTrackerTests {
  @Test(
    arguments: [
      // The numbers received, and the verdict on the last one.
      ([5], .next), ([5, 6], .next), ([0xFFFF, 0], .next), ([5, 8], .gap(missing: 2)), ([0xFFFE, 1], .gap(missing: 2)),
      ([5, 5], .late), ([5, 4], .late), ([0, 0xFFFF], .late), ([200, 101], .late),
      // A distance above MAX_MISORDER is a sender that has restarted.
      ([200, 100], .gap(missing: 0)), ([40_000, 100], .gap(missing: 25_635)), ([5, 32_773], .gap(missing: 32_767)),
      ([5, 32_774], .gap(missing: 0)),
      // A late packet does not move the expected number; a restart does.
      ([5, 4, 6], .next), ([200, 100, 101], .next), ([5, 8, 6], .late),
    ] as [([UInt16], SequenceTracker.Verdict)])
  func `a number is next, behind a gap, or late`(numbers: [UInt16], verdict: SequenceTracker.Verdict) {
    var tracker = SequenceTracker()
    var last: SequenceTracker.Verdict?
    for number in numbers { last = tracker.handle(number) }
    #expect(last == verdict)
  }
}
