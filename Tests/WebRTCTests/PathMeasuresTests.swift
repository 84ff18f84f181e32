import Media
import Testing

@testable import WebRTC

@Suite("Queueing delay of a path")
struct QueueingDelayTests {
  /// Sends packets of 1,250 bytes each 10 ms, 1 Mb/s, whose delay is a function of their number; clocks differ by an hour.
  private static func run(
    _ count: Int, from first: Int = 0, bitrate: Double = 1_000_000, into measure: inout QueueingDelay,
    delay: (Int) -> Int64?
  ) {
    for number in first..<first + count {
      let sent = MediaTime.zero + .milliseconds(Int64(number) * 10)
      measure.add(
        byteCount: 1_250, sent: sent, arrival: delay(number).map { sent + .seconds(3_600) + .milliseconds($0) },
        bitrate: bitrate)
    }
  }

  @Test func `before the first packet nothing is known, and an empty path has no delay`() throws {
    var measure = QueueingDelay()
    #expect(measure.total == nil && measure.excess == nil)
    Self.run(100, into: &measure) { _ in 25 }
    #expect(measure.total == 0)
    // A packet alone is explained by the time that it takes at the estimate.
    let excess = try #require(measure.excess)
    #expect(abs(excess + 0.01) < 1e-9)
  }

  @Test func `a standing queue is measured, jitter is not`() throws {
    var jittery = QueueingDelay()
    Self.run(500, into: &jittery) { $0 % 3 == 0 ? 25 : 85 }
    #expect(jittery.total == 0)
    var standing = QueueingDelay()
    Self.run(100, into: &standing) { _ in 25 }
    Self.run(100, from: 100, into: &standing) { _ in 125 }
    let total = try #require(standing.total)
    #expect(abs(total - 0.1) < 1e-9)
  }

  @Test func `a burst is explained by the sender's backlog`() throws {
    var measure = QueueingDelay()
    Self.run(100, into: &measure) { _ in 25 }
    // A keyframe of ten packets at once leaves at 1 Mb/s: each waits for those before it.
    let sent = MediaTime.zero + .seconds(1)
    for packet in Int64(1)...10 {
      measure.add(
        byteCount: 1_250, sent: sent, arrival: sent + .seconds(3_600) + .milliseconds(25 + packet * 10),
        bitrate: 1_000_000)
    }
    #expect(try #require(measure.excess) <= 1e-9)
  }

  @Test func `a lost packet counts for the backlog, and has no delay`() throws {
    var measure = QueueingDelay()
    Self.run(100, into: &measure) { _ in 25 }
    let before = try #require(measure.total)
    Self.run(20, from: 100, into: &measure) { _ in nil }
    #expect(measure.total == before)
  }

  @Test func `the delay of a longer route counts as that of the path after twenty seconds, or at once on demand`()
    throws
  {
    var measure = QueueingDelay()
    Self.run(100, into: &measure) { _ in 25 }
    Self.run(300, from: 100, into: &measure) { _ in 75 }
    #expect(try #require(measure.total) > 0.049)
    var rebased = measure
    rebased.rebase()
    #expect(rebased.total == nil && rebased.excess == nil)
    Self.run(10, from: 400, into: &rebased) { _ in 75 }
    #expect(rebased.total == 0)
    Self.run(2_000, from: 400, into: &measure) { _ in 75 }
    #expect(measure.total == 0)
  }
}

@Suite("Loss of a path")
struct PacketLossTests {
  private static func at(_ milliseconds: Int64) -> MediaTime { .zero + .milliseconds(milliseconds) }

  @Test func `the share is that of the last second, and unknown below twenty packets`() {
    var loss = PacketLoss()
    loss.add(lost: 1, arrived: 18, at: Self.at(0))
    #expect(loss.share(at: Self.at(0)) == nil)
    loss.add(lost: 0, arrived: 1, at: Self.at(50))
    #expect(loss.share(at: Self.at(50)) == 0.05)
    loss.add(lost: 20, arrived: 20, at: Self.at(999))
    #expect(loss.share(at: Self.at(999)) == 0.35)
    #expect(loss.share(at: Self.at(1_000)) == 0.5, "the first interval has left")
    #expect(loss.share(at: Self.at(2_000)) == nil)
  }

  @Test func `packets that arrive after they were reported lost take the loss back, and no more`() {
    var loss = PacketLoss()
    loss.add(lost: 10, arrived: 90, at: Self.at(0))
    loss.add(lost: -10, arrived: 10, at: Self.at(100))
    #expect(loss.share(at: Self.at(100)) == 0)
    loss.add(lost: -10, arrived: 0, at: Self.at(200))
    #expect(loss.share(at: Self.at(200)) == 0)
    loss.forget()
    #expect(loss.share(at: Self.at(200)) == nil)
  }

  @Test func `loss below the limit is none, above it all counts`() {
    var loss = PacketLoss()
    #expect(loss.excess(0.1, limit: 0.1, bitrate: 1_000_000) == 0)
    #expect(loss.excess(0.11, limit: 0.1, bitrate: 1_000_000) == 0.11)
    #expect(loss.inherentShare == 0)
  }

  @Test func `loss that stays when the bitrate has fallen by 40% is that of the path, until it goes`() {
    var loss = PacketLoss()
    #expect(loss.excess(0.2, limit: 0.1, bitrate: 1_000_000) == 0.2)
    #expect(loss.excess(0.2, limit: 0.1, bitrate: 610_000) == 0.2)
    #expect(loss.excess(0.2, limit: 0.1, bitrate: 600_000) == 0)
    #expect(loss.inherentShare == 0.2)
    #expect(loss.excess(0.29, limit: 0.1, bitrate: 600_000) == 0)
    let more = loss.excess(0.35, limit: 0.1, bitrate: 600_000)
    #expect(abs(more - 0.15) < 1e-9)
    // A path that loses less again has less of its own.
    #expect(loss.excess(0.05, limit: 0.1, bitrate: 600_000) == 0)
    #expect(loss.inherentShare == 0.05)
    let again = loss.excess(0.2, limit: 0.1, bitrate: 600_000)
    #expect(abs(again - 0.15) < 1e-9)
  }

  @Test func `loss that falls with the bitrate, and an outage, are not of the path`() {
    var congested = PacketLoss()
    #expect(congested.excess(0.3, limit: 0.1, bitrate: 1_000_000) == 0.3)
    #expect(congested.excess(0.12, limit: 0.1, bitrate: 500_000) == 0.12)
    #expect(congested.inherentShare == 0)
    var outage = PacketLoss()
    #expect(outage.excess(0.9, limit: 0.1, bitrate: 1_000_000) == 0.9)
    #expect(outage.excess(0.9, limit: 0.1, bitrate: 300_000) == 0.9)
    #expect(outage.inherentShare == 0)
  }
}

@Suite("Bitrate that arrives at a client")
struct AcknowledgedBitrateTests {
  @Test func `it is known after 100 ms, over whole intervals of 25 ms`() throws {
    var measure = AcknowledgedBitrate()
    #expect(measure.bitrate(over: .seconds(1)) == nil)
    for number in Int64(0)..<4 { measure.add(byteCount: 3_125, arrival: .zero + .milliseconds(number * 25)) }
    #expect(measure.bitrate(over: .seconds(1)) == nil)
    measure.add(byteCount: 9_999, arrival: .zero + .milliseconds(100))
    let bitrate = try #require(measure.bitrate(over: .seconds(1)))
    #expect(abs(bitrate - 1_000_000) < 1, "the current interval does not count")
  }

  @Test func `a span chooses the last intervals, at most a second`() throws {
    var measure = AcknowledgedBitrate()
    // A second at 1 Mb/s, then a second at 2 Mb/s.
    for number in Int64(0)..<80 {
      measure.add(byteCount: number < 40 ? 3_125 : 6_250, arrival: .zero + .milliseconds(number * 25))
    }
    for span in [MediaDuration.milliseconds(500), .seconds(1), .seconds(60)] {
      let bitrate = try #require(measure.bitrate(over: span))
      #expect(abs(bitrate - 2_000_000) < 1, "\(span)")
    }
    for number in Int64(80)..<101 { measure.add(byteCount: 0, arrival: .zero + .milliseconds(number * 25)) }
    #expect(measure.bitrate(over: .milliseconds(500)) == 0)
    let half = try #require(measure.bitrate(over: .seconds(1)))
    #expect(abs(half - 2_000_000 * 19 / 39) < 1)
  }

  @Test func `intervals without packets count as empty, a pause of a second starts again`() throws {
    var measure = AcknowledgedBitrate()
    measure.add(byteCount: 12_500, arrival: .zero)
    measure.add(byteCount: 1, arrival: .zero + .milliseconds(100))
    let paused = try #require(measure.bitrate(over: .milliseconds(100)))
    #expect(abs(paused - 1_000_000) < 1)
    measure.add(byteCount: 1, arrival: .zero + .milliseconds(1_100))
    #expect(measure.bitrate(over: .seconds(1)) == nil)
    // So does a clock that is set back.
    for number in Int64(0)..<6 {
      measure.add(byteCount: 3_125, arrival: .zero - .seconds(50) + .milliseconds(number * 25))
    }
    let set = try #require(measure.bitrate(over: .seconds(1)))
    #expect(abs(set - 1_000_000) < 1)
  }

  @Test func `a packet from before the beginning is left out, a late one within it counts`() throws {
    var measure = AcknowledgedBitrate()
    measure.add(byteCount: 1, arrival: .zero + .milliseconds(500))
    measure.add(byteCount: 1_000_000, arrival: .zero + .milliseconds(400))
    measure.add(byteCount: 1, arrival: .zero + .milliseconds(600))
    measure.add(byteCount: 12_498, arrival: .zero + .milliseconds(550))
    let late = try #require(measure.bitrate(over: .milliseconds(100)))
    #expect(abs(late - 999_920) < 1)
  }
}
