import Media
import TestSupport

/// A link in virtual time as the reports of its output show it: a rate that varies, packets that are lost at random or in bursts, and
/// a delay, after which the sender knows of both.
struct SimulatedLink {
  /// Variation of the rate.
  enum Shape: CaseIterable {
    /// Always the same.
    case constant
    /// Half the rate from a third of the time to two thirds.
    case halved
    /// Between 60% and 140%, another rate every five seconds.
    case wandering
    /// Constant, with bursts of 100 to 600 ms, one in ten seconds, in which 5 to 12% more are lost.
    case bursts
  }

  let shape: Shape
  /// Bits per second.
  let rate: Int
  /// Time from the sender to the receiver, and of a report back.
  let delay: MediaDuration
  /// Share of packets that are lost at random.
  let loss: Double
  let end: MediaTime
  private var numbers: SeededNumbers
  private var factor = 1.0
  private var nextFactor = MediaTime.zero
  private var nextBurst: MediaTime
  private var burstEnd = MediaTime.zero
  private var burstLoss = 0.0
  /// Losses have numbers of their own: rates are the same with other losses.
  private var lossNumbers: SeededNumbers

  init(shape: Shape, rate: Int, end: MediaTime, seed: UInt64) {
    self.shape = shape
    self.rate = rate
    self.end = end
    self.numbers = SeededNumbers(seed: seed)
    self.lossNumbers = SeededNumbers(seed: seed &+ 1_000_000)
    self.delay = .milliseconds(Int64.random(in: 5...150, using: &self.numbers))
    self.loss = Double.random(in: 0...0.02, using: &self.lossNumbers)
    self.nextBurst = MediaTime(nanoseconds: 0) + .seconds(Int64.random(in: 5...15, using: &self.lossNumbers))
  }

  /// Number of steps after which the sender knows what has arrived.
  func roundTrip(inStepsOf step: MediaDuration) -> Int {
    Int((2 * self.delay.nanoseconds + step.nanoseconds - 1) / step.nanoseconds)
  }

  /// Bits per second that the link carries now, losses included.
  mutating func capacity(at now: MediaTime) -> Double {
    switch self.shape {
    case .constant, .bursts: break
    case .halved:
      let share = now.seconds / self.end.seconds
      self.factor = share > 1.0 / 3 && share < 2.0 / 3 ? 0.5 : 1
    case .wandering:
      if now >= self.nextFactor {
        self.factor = Double.random(in: 0.6...1.4, using: &self.numbers)
        self.nextFactor = now + .seconds(5)
      }
    }
    return Double(self.rate) * self.factor
  }

  /// Share of what is sent now that arrives.
  mutating func arrivingShare(at now: MediaTime) -> Double {
    if self.shape == .bursts, now >= self.nextBurst {
      self.burstEnd = now + .milliseconds(Int64.random(in: 100...600, using: &self.lossNumbers))
      self.burstLoss = Double.random(in: 0.05...0.12, using: &self.lossNumbers)
      self.nextBurst = now + .seconds(Int64.random(in: 5...15, using: &self.lossNumbers))
    }
    return 1 - self.loss - (now < self.burstEnd ? self.burstLoss : 0)
  }
}
