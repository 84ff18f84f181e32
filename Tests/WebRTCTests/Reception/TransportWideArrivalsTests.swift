import Media
import NIOCore
import RTP
import TestSupport
import Testing
import WebRTC

@Suite("WebRTC reception: transport-wide feedback, draft-holmer-rmcat-transport-wide-cc-extensions-01")
struct TransportWideArrivalsTests {
  private static func time(_ milliseconds: Double) -> MediaTime { .zero + .microseconds(Int64(milliseconds * 1000)) }

  private static func handle(_ arrivals: [(UInt16, Double)], _ state: inout TransportWideArrivals) {
    for (number, time) in arrivals { state.handle(.init(rawValue: number), at: Self.time(time)) }
  }

  /// Numbers and times in milliseconds that feedback reports as arrived, and numbers of lost ones.
  private static func read(_ feedback: RTCPTransportWideFeedback) -> (arrived: [(UInt16, Double)], lost: [UInt16]) {
    var ticks = Int64(feedback.referenceTime) * 256
    let arrived = feedback.arrivals.map { arrival in
      ticks += Int64(arrival.delta)
      return (arrival.sequenceNumber, Double(ticks) / 4)
    }
    let all = (0..<feedback.statusCount).map { feedback.baseSequenceNumber &+ $0 }
    return (arrived, all.filter { number in !arrived.contains { $0.0 == number } })
  }

  @Test func `arrivals, losses and reordering are reported with 250 µs, over the wrap`() throws {
    var state = TransportWideArrivals()
    Self.handle([(65_534, 1000.25), (1, 1010), (65_535, 1012.5)], &state)
    let feedback = state.makeFeedback(at: Self.time(1100))
    #expect(feedback.count == 1)
    let (arrived, lost) = Self.read(try #require(feedback.first))
    #expect(arrived.map(\.0) == [65_534, 65_535, 1])
    #expect(arrived.map(\.1) == [1000.25, 1012.5, 1010])
    #expect(lost == [0])
    // Golden bytes, laid out by hand from §3.1.
    var buffer = ByteBuffer()
    RTCPCompoundPacket([
      .feedback(RTCPFeedback(senderSSRC: 1, mediaSSRC: 2, message: .transportWide(feedback[0])))
    ]).serialize(into: &buffer)
    #expect(
      Array(buffer.readableBytesView) == [
        0x8F, 0xCD, 0x00, 0x06,  // V=2, FMT 15; RTPFB; 7 words
        0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02,
        0xFF, 0xFE, 0x00, 0x04,  // base 65,534; 4 packets
        0x00, 0x00, 0x0F, 0x00,  // 15 × 64 ms = 960 ms; feedback 0
        0xD4, 0x80,  // status vector, 2 bits each: small, small, lost, large
        0xA1, 0x31,  // 161 × 250 µs = 40.25 ms; 49 × 250 µs = 12.25 ms
        0xFF, 0xF6,  // -10 × 250 µs = -2.5 ms
        0x00, 0x00,  // padding
      ])
  }

  @Test func `feedback continues where the last one ended, and counts`() throws {
    var state = TransportWideArrivals()
    Self.handle([(10, 0), (11, 1)], &state)
    _ = state.makeFeedback(at: Self.time(100))
    Self.handle([(14, 120)], &state)
    let feedback = try #require(state.makeFeedback(at: Self.time(200)).first)
    #expect(feedback.baseSequenceNumber == 12 && feedback.statusCount == 3 && feedback.feedbackCount == 1)
    #expect(Self.read(feedback).lost == [12, 13])
    #expect(state.makeFeedback(at: Self.time(300)).isEmpty)
  }

  @Test func `a packet that was reported as lost is reported when it comes, and one that comes twice once`() throws {
    var state = TransportWideArrivals()
    Self.handle([(10, 0), (12, 1)], &state)
    _ = state.makeFeedback(at: Self.time(100))
    Self.handle([(11, 110), (12, 111), (13, 112), (13, 113)], &state)
    let feedback = try #require(state.makeFeedback(at: Self.time(200)).first)
    #expect(feedback.baseSequenceNumber == 11)
    #expect(Self.read(feedback).arrived.map(\.0) == [11, 13])
    #expect(Self.read(feedback).arrived.map(\.1) == [110, 112])
  }

  @Test func `feedback is due after 100 ms, after 50 ms when many packets arrived`() {
    var state = TransportWideArrivals()
    #expect(state.nextDeadline == nil)
    Self.handle([(0, 10)], &state)
    #expect(state.nextDeadline == Self.time(110))
    Self.handle((1..<20).map { (UInt16($0), 20) }, &state)
    #expect(state.nextDeadline == Self.time(60))
    _ = state.makeFeedback(at: Self.time(60))
    #expect(state.nextDeadline == nil)
    Self.handle([(20, 70)], &state)
    #expect(state.nextDeadline == Self.time(160))
  }

  @Test func `feedback on many packets is split, and so is one over more than 8 s`() throws {
    var state = TransportWideArrivals()
    Self.handle((0..<1000).map { (UInt16($0), Double($0) / 10) }, &state)
    let many = state.makeFeedback(at: Self.time(100))
    #expect(many.map { Int($0.statusCount) } == [400, 400, 200] && many.map(\.feedbackCount) == [0, 1, 2])
    #expect(many.flatMap { Self.read($0).arrived.map(\.0) } == (0..<1000).map { UInt16($0) })
    for feedback in many {
      var buffer = ByteBuffer()
      RTCPCompoundPacket([
        .feedback(RTCPFeedback(senderSSRC: 1, mediaSSRC: 2, message: .transportWide(feedback)))
      ]).serialize(into: &buffer)
      #expect(buffer.readableBytes <= 1200)
    }
    Self.handle([(1000, 200), (1001, 10_200)], &state)
    let late = state.makeFeedback(at: Self.time(10_200))
    #expect(late.flatMap { Self.read($0).arrived.map(\.1) } == [200, 10_200])
  }

  @Test func `a restart of the numbers is not reported as loss`() throws {
    var state = TransportWideArrivals()
    Self.handle([(10, 0)], &state)
    _ = state.makeFeedback(at: Self.time(100))
    Self.handle([(20_000, 110)], &state)
    let feedback = try #require(state.makeFeedback(at: Self.time(200)).first)
    #expect(feedback.baseSequenceNumber == 20_000 && feedback.statusCount == 1)
  }

  /// Result of our own estimator, which browsers' senders resemble, from the feedback.
  @Test(arguments: [1, 2] as [UInt64])
  func `a sender's history learns each arrival and each loss, through wraps, reordering and doubles`(seed: UInt64)
    throws
  {
    var numbers = SplitMix(seed: seed)
    var history = TransportWideHistory()
    var state = TransportWideArrivals()
    var expected: [Int: Double] = [:]
    var told: [Int: MediaTime] = [:]
    var arrivals: [(time: Double, number: UInt16)] = []
    var sent = 0
    for now in 0..<17_500 {
      let time = Self.time(Double(now))
      for _ in 0..<4 where now < 17_300 {
        let number = history.send(byteCount: 1000, at: time)
        if Int.random(in: 0..<100, using: &numbers) >= 5 {
          let arrival = Double(now + (Int.random(in: 0..<20, using: &numbers) == 0 ? 30 : 20))
          arrivals.append((arrival, number.rawValue))
          expected[sent] = arrival
          if Int.random(in: 0..<50, using: &numbers) == 0 { arrivals.append((arrival + 5, number.rawValue)) }
        }
        sent += 1
      }
      for arrival in arrivals where arrival.time == Double(now) {
        state.handle(.init(rawValue: arrival.number), at: time)
      }
      arrivals.removeAll { $0.time <= Double(now) }
      guard let deadline = state.nextDeadline, deadline <= time else { continue }
      for feedback in state.makeFeedback(at: time) {
        for report in history.handle(feedback) {
          guard let arrival = report.arrival else { continue }
          told[Int(report.number)] = arrival
        }
      }
    }
    let first = try #require(told.keys.min())
    let firstSent = try #require(expected.keys.min())
    let offset = told[first]! - Self.time(expected[firstSent]!)
    #expect(told.count == expected.count)
    let shift = first - firstSent
    #expect(
      expected.allSatisfy { number, time in
        guard let arrival = told[number + shift] else { return false }
        return arrival - Self.time(time) == offset
      })
  }
}
