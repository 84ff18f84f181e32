import Media
import NIOCore
import RTP
import TestSupport
import Testing
import WebRTC

@Suite("WebRTC reception: jitter buffer")
struct JitterBufferTests {
  private static func packet(_ number: UInt16) -> RTPPacket {
    RTPPacket(
      header: RTPHeader(marker: false, payloadType: 96, sequenceNumber: number, timestamp: 0, ssrc: 1),
      payload: ByteBuffer(bytes: [1]))
  }

  private static func time(_ milliseconds: Int64) -> MediaTime { .zero + .milliseconds(milliseconds) }

  private static func insert(
    _ numbers: [UInt16], into buffer: inout JitterBuffer, at milliseconds: Int64, isRetransmission: Bool = false
  ) -> [UInt16] {
    numbers.flatMap { number in
      buffer.insert(Self.packet(number), isRetransmission: isRetransmission, at: Self.time(milliseconds))
        .map(\.header.sequenceNumber)
    }
  }

  @Test func `packets in order pass at once, over the wrap of their numbers`() {
    var buffer = JitterBuffer()
    #expect(Self.insert([65_534, 65_535, 0, 1], into: &buffer, at: 0) == [65_534, 65_535, 0, 1])
    #expect(buffer.nextDeadline == nil)
  }

  @Test func `packets behind a gap wait for it, and pass in order when it is filled`() {
    var buffer = JitterBuffer()
    #expect(Self.insert([65_534, 1, 0], into: &buffer, at: 0) == [65_534])
    #expect(buffer.requests(at: Self.time(0)) == [65_535])
    #expect(Self.insert([65_535], into: &buffer, at: 20) == [65_535, 0, 1])
    #expect(buffer.nextDeadline == nil && buffer.lostPacketCount == 0 && buffer.recoveredPacketCount == 2)
  }

  @Test func `packets that arrive twice, and late ones, are dropped`() {
    var buffer = JitterBuffer()
    #expect(Self.insert([10, 10, 12, 12, 9], into: &buffer, at: 0) == [10])
    #expect(Self.insert([11], into: &buffer, at: 1) == [11, 12])
    #expect(Self.insert([10, 11, 12], into: &buffer, at: 2) == [])
    #expect(buffer.nextDeadline == nil && buffer.lostPacketCount == 0 && buffer.recoveredPacketCount == 1)
  }

  /// Round trip, jitter, and the wait that they give.
  @Test(arguments: [(nil, 0, 60), (20, 0, 30), (20, 40, 80), (200, 0, 150), (1, 400, 150)] as [(Int64?, Int64, Int64)])
  func `a gap is given up after twice the jitter or a round trip and 10 ms, at most 150 ms`(
    roundTrip: Int64?, jitter: Int64, delay: Int64
  ) {
    var buffer = JitterBuffer()
    if let roundTrip { buffer.noteRoundTrip(.milliseconds(roundTrip)) }
    buffer.jitter = .milliseconds(jitter)
    #expect(buffer.delay == .milliseconds(delay))
    #expect(Self.insert([1, 3], into: &buffer, at: 1000) == [1])
    #expect(Self.insert([4], into: &buffer, at: 1000 + delay - 1).isEmpty)
    #expect(buffer.release(at: Self.time(1000 + delay)).map(\.header.sequenceNumber) == [3, 4])
    #expect(buffer.lostPacketCount == 1)
    #expect(Self.insert([2, 5], into: &buffer, at: 1200) == [5])
  }

  @Test func `each gap has its own time`() {
    var buffer = JitterBuffer()
    #expect(Self.insert([1, 3], into: &buffer, at: 0) == [1])
    #expect(Self.insert([5], into: &buffer, at: 30).isEmpty)
    #expect(buffer.release(at: Self.time(60)).map(\.header.sequenceNumber) == [3])
    #expect(buffer.release(at: Self.time(89)).isEmpty)
    #expect(buffer.release(at: Self.time(90)).map(\.header.sequenceNumber) == [5])
  }

  @Test func `missing packets are asked for at once, and again while an answer can come in time`() {
    var buffer = JitterBuffer()
    buffer.noteRoundTrip(.milliseconds(20))
    buffer.jitter = .milliseconds(50)
    _ = Self.insert([65_534, 2], into: &buffer, at: 0)
    #expect(buffer.nextDeadline == Self.time(0))
    #expect(buffer.requests(at: Self.time(0)) == [65_535, 0, 1])
    #expect(buffer.requests(at: Self.time(10)).isEmpty)
    #expect(buffer.nextDeadline == Self.time(25))
    _ = Self.insert([0], into: &buffer, at: 24)
    #expect(buffer.requests(at: Self.time(25)) == [65_535, 1])
    #expect(buffer.requests(at: Self.time(50)) == [65_535, 1])
    #expect(buffer.requests(at: Self.time(75)) == [65_535, 1])
    // 75 ms and a round trip of 20 ms with its margin: another answer would come after the gap is given up.
    #expect(buffer.nextDeadline == Self.time(100))
    #expect(buffer.requests(at: Self.time(99)).isEmpty)
    #expect(buffer.release(at: Self.time(100)).map(\.header.sequenceNumber) == [0, 2])
    #expect(buffer.nextDeadline == nil)
  }

  @Test func `no packet is requested again when the round trip exceeds the maximum wait`() {
    var buffer = JitterBuffer()
    buffer.noteRoundTrip(.milliseconds(160))
    _ = Self.insert([1, 3], into: &buffer, at: 0)
    #expect(buffer.requests(at: Self.time(0)).isEmpty)
    #expect(buffer.nextDeadline == Self.time(150))
  }

  @Test func `a path that reorders is asked a little later`() {
    var buffer = JitterBuffer()
    _ = Self.insert([1, 3], into: &buffer, at: 0)
    #expect(buffer.requests(at: Self.time(0)) == [2])
    _ = Self.insert([2], into: &buffer, at: 4)
    _ = Self.insert([5], into: &buffer, at: 10)
    #expect(buffer.requests(at: Self.time(10)).isEmpty)
    #expect(buffer.nextDeadline == Self.time(14))
    #expect(Self.insert([4], into: &buffer, at: 13) == [4, 5])
    #expect(buffer.nextDeadline == nil)
  }

  @Test func `the answer to a request measures the round trip`() {
    var buffer = JitterBuffer()
    _ = Self.insert([1, 3], into: &buffer, at: 0)
    _ = buffer.requests(at: Self.time(0))
    _ = Self.insert([2], into: &buffer, at: 40, isRetransmission: true)
    #expect(buffer.roundTrip == .milliseconds(40))
    _ = Self.insert([5], into: &buffer, at: 100)
    _ = buffer.requests(at: Self.time(100))
    _ = Self.insert([4], into: &buffer, at: 148, isRetransmission: true)
    #expect(buffer.roundTrip == .milliseconds(44))
    _ = Self.insert([7], into: &buffer, at: 200)
    _ = buffer.requests(at: Self.time(200))
    _ = Self.insert([6], into: &buffer, at: 228, isRetransmission: true)
    #expect(buffer.roundTrip == .milliseconds(43))
  }

  @Test func `an answer that comes too late lengthens the wait for the next one`() {
    var buffer = JitterBuffer()
    buffer.noteRoundTrip(.milliseconds(20))
    _ = Self.insert([1, 3], into: &buffer, at: 0)
    #expect(buffer.requests(at: Self.time(0)) == [2])
    #expect(buffer.release(at: Self.time(30)).map(\.header.sequenceNumber) == [3])
    #expect(Self.insert([2], into: &buffer, at: 80, isRetransmission: true).isEmpty)
    #expect(buffer.roundTrip == .milliseconds(50) && buffer.delay == .milliseconds(60))
    // A second copy measures nothing.
    _ = Self.insert([2], into: &buffer, at: 140, isRetransmission: true)
    #expect(buffer.roundTrip == .milliseconds(50))
  }

  @Test func `a retransmission of what was never sent, or is not missing, is dropped`() {
    var buffer = JitterBuffer()
    #expect(Self.insert([7], into: &buffer, at: 0, isRetransmission: true).isEmpty)
    #expect(Self.insert([100], into: &buffer, at: 0) == [100])
    for number: UInt16 in [100, 101, 5000] {
      #expect(Self.insert([number], into: &buffer, at: 0, isRetransmission: true).isEmpty)
    }
    // Behind all: late.
    #expect(Self.insert([40_000], into: &buffer, at: 0, isRetransmission: true).isEmpty)
    #expect(Self.insert([101], into: &buffer, at: 0) == [101])
    #expect(buffer.nextDeadline == nil)
  }

  @Test func `a jump is taken for a restart when a second packet follows it`() {
    var buffer = JitterBuffer()
    #expect(Self.insert([10, 12, 30_000, 13], into: &buffer, at: 0) == [10])
    #expect(Self.insert([30_000, 30_001], into: &buffer, at: 1) == [12, 13, 30_001])
    #expect(Self.insert([30_002], into: &buffer, at: 1) == [30_002])
    #expect(buffer.nextDeadline == nil)
  }

  @Test func `the packets that wait are bounded`() {
    var buffer = JitterBuffer()
    _ = Self.insert([0], into: &buffer, at: 0)
    // Packets that went in and did not come out wait; numbers that were skipped and not given up are missing.
    var (waiting, skipped) = (0, 1)
    for number in UInt16(2)...3000 {
      waiting += 1 - Self.insert([number], into: &buffer, at: 0).count
      #expect(waiting <= JitterBuffer.maximumCount)
    }
    #expect(buffer.lostPacketCount == 1)
    for number in stride(from: UInt16(3002), to: 9000, by: 2) {
      skipped += 1
      waiting += 1 - Self.insert([number], into: &buffer, at: 0).count
      let missing = skipped - buffer.lostPacketCount
      #expect(missing <= JitterBuffer.maximumCount && waiting <= JitterBuffer.maximumCount)
      #expect(buffer.requests(at: Self.time(0)).count <= JitterBuffer.maximumRequestCount)
    }
  }

  /// Share of packets lost, and reordered or doubled, each in percent.
  @Test(arguments: [(0, 0), (2, 0), (10, 5), (30, 30)], [1, 2, 3] as [UInt64])
  func `whatever the path does, packets come out in order, once, and no later than their gap allows`(
    shares: (loss: Int, disorder: Int), seed: UInt64
  ) {
    var numbers = SplitMix(seed: seed)
    var buffer = JitterBuffer()
    buffer.noteRoundTrip(.milliseconds(50))
    var arrivals: [Int64: [(number: Int, isRetransmission: Bool)]] = [:]
    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &numbers) < percent }
    func schedule(_ number: Int, at time: Int64, isRetransmission: Bool) {
      guard !chance(shares.loss) else { return }
      var time = time
      if chance(shares.disorder) { time += Int64.random(in: 1...30, using: &numbers) }
      arrivals[time, default: []].append((number, isRetransmission))
      if chance(shares.disorder) { arrivals[time + 3, default: []].append((number, isRetransmission)) }
    }
    // 250 packets a second for 8 s.
    let count = 2000
    for number in 0..<count { schedule(number, at: Int64(number) * 4, isRetransmission: false) }
    var released: [(number: Int, time: Int64)] = []
    var waits: [Int] = []
    for now: Int64 in 0..<Int64(count * 4 + 300) {
      var out: [RTPPacket] = []
      for arrival in arrivals.removeValue(forKey: now) ?? [] {
        out += buffer.insert(
          Self.packet(UInt16(truncatingIfNeeded: arrival.number + 64_500)),
          isRetransmission: arrival.isRetransmission, at: Self.time(now))
      }
      out += buffer.release(at: Self.time(now))
      for packet in out {
        let number = Int(packet.header.sequenceNumber &- 64_500)
        released.append((number, now))
        waits.append(Int(now) - number * 4)
      }
      for number in buffer.requests(at: Self.time(now)) where !chance(shares.loss) {
        schedule(Int(number &- 64_500), at: now + 50, isRetransmission: true)
      }
    }
    #expect(zip(released, released.dropFirst()).allSatisfy { $0.number < $1.number })
    // A packet, the notice of its gap, and the answer to a request are each up to 30 ms late; an answer takes 50 ms.
    #expect((waits.max() ?? 0) <= 30 + 50 + 30 + 10 + 8)
    let missing = released.last!.number - released.first!.number + 1 - released.count
    #expect(missing == buffer.lostPacketCount)
    // A loss remains where request or answer were lost too.
    let share = Double(shares.loss) / 100
    #expect(Double(missing) <= Double(count) * share * (2 * share + 0.02) * 1.5 + (shares.loss > 0 ? 10 : 0))
  }
}
