import Media
import TestSupport
import Testing

@testable import RateControl

@Suite("Estimates of a TCP connection's bitrate")
struct QueueEstimatorTests {
  private static func time(_ milliseconds: Int64) -> MediaTime { MediaTime.zero + .milliseconds(milliseconds) }

  /// Measurements each 100 ms of a connection that sends at `rate`, while the age of what waits is `age`.
  private static func feed(
    _ estimator: inout QueueEstimator, from start: Int64, for milliseconds: Int64, rate: Int64, sent: inout Int64,
    age: (Int64) -> Int64
  ) {
    for step in stride(from: 0, to: milliseconds, by: 100) {
      sent += rate / 80
      estimator.update(
        .init(
          time: Self.time(start + step), sentByteCount: sent, oldestUnsentAge: .milliseconds(age(step))))
    }
  }

  @Test func `the first estimate is clamped to the bounds`() {
    #expect(QueueEstimator(bitrate: 5, bounds: 10...20).bitrate == 10)
    #expect(QueueEstimator(bitrate: 15, bounds: 10...20).bitrate == 15)
    #expect(QueueEstimator(bitrate: 25, bounds: 10...20).bitrate == 20)
  }

  @Test func `a growing queue lowers the estimate to 85% of what was sent, once a second`() {
    var estimator = QueueEstimator(bitrate: 2_000_000, bounds: 100_000...4_000_000)
    var sent: Int64 = 0
    Self.feed(&estimator, from: 0, for: 1000, rate: 1_000_000, sent: &sent) { _ in 0 }
    #expect(estimator.bitrate == 2_000_000)
    Self.feed(&estimator, from: 1000, for: 400, rate: 1_000_000, sent: &sent) { 300 + $0 }
    // A burst of loss would be over by now.
    #expect(estimator.bitrate == 2_000_000)
    Self.feed(&estimator, from: 1400, for: 100, rate: 1_000_000, sent: &sent) { 700 + $0 }
    #expect(estimator.bitrate == 850_000)
    // The queue still grows, but the encoder has had no time.
    Self.feed(&estimator, from: 1500, for: 900, rate: 500_000, sent: &sent) { 800 + $0 }
    #expect(estimator.bitrate == 850_000)
    Self.feed(&estimator, from: 2400, for: 100, rate: 500_000, sent: &sent) { 1700 + $0 }
    #expect(estimator.bitrate == 425_000)
  }

  @Test func `a queue that empties lowers nothing further`() {
    var estimator = QueueEstimator(bitrate: 2_000_000, bounds: 100_000...4_000_000)
    var sent: Int64 = 0
    Self.feed(&estimator, from: 0, for: 1000, rate: 1_000_000, sent: &sent) { _ in 0 }
    Self.feed(&estimator, from: 1000, for: 5000, rate: 1_000_000, sent: &sent) { 3000 - $0 / 2 }
    #expect(estimator.bitrate == 2_000_000)
  }

  @Test func `the estimate rises by 8% a second after four calm seconds, up to the bound`() {
    var estimator = QueueEstimator(bitrate: 1_000_000, bounds: 100_000...1_500_000)
    var sent: Int64 = 0
    Self.feed(&estimator, from: 0, for: 2000, rate: 1_000_000, sent: &sent) { _ in 0 }
    // From the first half second on; nothing was congested.
    #expect((1_090_000...1_130_000).contains(estimator.bitrate))
    Self.feed(&estimator, from: 2000, for: 20_000, rate: 1_400_000, sent: &sent) { _ in 0 }
    #expect(estimator.bitrate == 1_500_000)
  }

  @Test func `a sender that uses little of the estimate does not raise it, and says so`() {
    var estimator = QueueEstimator(bitrate: 1_000_000, bounds: 100_000...4_000_000)
    var sent: Int64 = 0
    Self.feed(&estimator, from: 0, for: 20_000, rate: 400_000, sent: &sent) { _ in 0 }
    #expect(estimator.bitrate == 1_000_000)
    #expect(estimator.isLimitedBySender)
  }

  @Test func `near the bitrate of the last congestion the estimate rises slowly, and forgets it`() {
    var estimator = QueueEstimator(bitrate: 1_000_000, bounds: 100_000...4_000_000)
    var sent: Int64 = 0
    Self.feed(&estimator, from: 0, for: 1000, rate: 1_000_000, sent: &sent) { _ in 0 }
    Self.feed(&estimator, from: 1000, for: 500, rate: 1_000_000, sent: &sent) { 300 + $0 }
    let lowered = estimator.bitrate
    #expect((850_000...950_000).contains(lowered))
    // 4 s without a rise, then 8% a second up to 90% of the bitrate at the congestion, then 1%.
    Self.feed(&estimator, from: 1500, for: 3900, rate: 850_000, sent: &sent) { _ in 0 }
    #expect(estimator.bitrate == lowered)
    Self.feed(&estimator, from: 5400, for: 5000, rate: 900_000, sent: &sent) { _ in 0 }
    #expect((lowered + 40_000...lowered + 140_000).contains(estimator.bitrate))
    Self.feed(&estimator, from: 10_400, for: 30_000, rate: 2_000_000, sent: &sent) { _ in 0 }
    #expect(estimator.bitrate > 1_500_000)
  }

  @Test func `measurements out of order are ignored`() {
    var estimator = QueueEstimator(bitrate: 1_000_000, bounds: 100_000...4_000_000)
    for milliseconds: Int64 in [1000, 1000, 900, 0] {
      estimator.update(
        .init(time: Self.time(milliseconds), sentByteCount: 0, oldestUnsentAge: .seconds(5)))
    }
    #expect(estimator.bitrate == 1_000_000)
  }

  /// Result of a push over a simulated link: shares of the second half of the time.
  private struct Outcome {
    /// Sent media, as a share of what the link carries or the encoder makes at most.
    var used: Double
    /// Time with media older than 700 ms.
    var late: Double
    /// Media dropped, of all.
    var dropped: Double
  }

  /// Three minutes of 30 frames a second, a keyframe of six frames' size each two seconds, and audio.
  private static func simulate(_ shape: SimulatedLink.Shape, rate: Int, seed: UInt64) -> Outcome {
    let maximum = 4_000_000
    let end = MediaTime.zero + .seconds(180)
    var link = SimulatedLink(shape: shape, rate: rate, end: end, seed: seed)
    var estimator = QueueEstimator(bitrate: maximum, bounds: 150_000...maximum)
    let step = MediaDuration.milliseconds(10)
    var now = MediaTime.zero
    var outcome = (carried: 0.0, sent: 0.0, late: 0, steps: 0, dropped: 0.0, made: 0.0)
    var tick = 0
    while now < end {
      now += step
      tick += 1
      if tick.isMultiple(of: 3) {
        let frame = tick / 3
        // Of 60 frames one has six times the size of the others, and all have the bitrate together.
        let size = Double(estimator.bitrate) / 8 / 30 * 60 / 65 * (frame.isMultiple(of: 60) ? 6 : 1) * 0.9
        link.enqueue(byteCount: Int(size), at: now)
        if now.seconds > end.seconds / 2 { outcome.made += size }
      }
      let before = (link.sentByteCount, link.droppedByteCount)
      link.advance(to: now, by: step)
      if now.seconds > end.seconds / 2 {
        outcome.steps += 1
        outcome.carried += min(link.capacity(at: now), Double(maximum)) / 8 * step.seconds
        outcome.sent += link.sentByteCount - before.0
        outcome.dropped += link.droppedByteCount - before.1
        if link.oldestAge(at: now) > .milliseconds(700) { outcome.late += 1 }
      }
      if tick.isMultiple(of: 10) {
        estimator.update(
          .init(time: now, sentByteCount: Int64(link.sentByteCount), oldestUnsentAge: link.oldestAge(at: now)))
      }
    }
    return Outcome(
      used: outcome.sent / outcome.carried, late: Double(outcome.late) / Double(outcome.steps),
      dropped: outcome.dropped / outcome.made)
  }

  @Test(arguments: SimulatedLink.Shape.allCases)
  func `over sixty links of each shape, most of the link is used and little is late`(shape: SimulatedLink.Shape) {
    // Least use, and most that is late and dropped, in any of the runs; and on average.
    let (minimumUsed, maximumLate, maximumDropped, meanUsed) =
      switch shape {
      case .constant: (0.6, 0.05, 0.01, 0.75)
      case .halved: (0.5, 0.08, 0.02, 0.65)
      case .wandering: (0.4, 0.20, 0.06, 0.5)
      case .bursts: (0.4, 0.12, 0.02, 0.6)
      }
    var sum = 0.0
    var numbers = SeededNumbers(seed: 7)
    for seed: UInt64 in 1...60 {
      let rate = Int.random(in: 400_000...6_000_000, using: &numbers)
      let outcome = Self.simulate(shape, rate: rate, seed: seed)
      sum += outcome.used
      #expect(outcome.used >= minimumUsed, "\(shape), \(rate) b/s, seed \(seed): used \(outcome.used)")
      #expect(outcome.late <= maximumLate, "\(shape), \(rate) b/s, seed \(seed): late \(outcome.late)")
      #expect(outcome.dropped <= maximumDropped, "\(shape), \(rate) b/s, seed \(seed): dropped \(outcome.dropped)")
    }
    #expect(sum / 60 >= meanUsed, "\(shape): \(sum / 60) on average")
  }
}
