import Media
import Testing

@testable import CaptureDevices

@Suite("Clock recovery of a sound device, in virtual time")
struct DriftEstimatorTests {
  /// A device whose clock is wrong, and a listener that resamples by what the control says: all in seconds.
  struct Simulation {
    var drift: Double
    var block = 0.01
    var estimator = DriftEstimator()
    var control = RateControl()
    /// The device's seconds since the anchor, and the true time.
    var position = 0.0
    var trueTime = 0.0
    /// What was made of it, in the streams' time, and the true time of where that began.
    var made = 0.0
    var anchor = 0.0
    var steps = 0
    var random = SplitMix(state: 1)

    /// Lets blocks come, with timestamps that are off by what `jitter` says, and returns the largest distance of sound
    /// and time, and the largest and the fastest change of the rate.
    mutating func run(
      seconds: Double, jitter: (inout SplitMix, Double) -> Double = { _, _ in 0 }
    ) -> (error: Double, deviation: Double, slew: Double) {
      var worst = (error: 0.0, deviation: 0.0, slew: 0.0)
      let end = self.trueTime + seconds
      while self.trueTime < end {
        let stamp = self.trueTime + jitter(&self.random, self.trueTime)
        if self.estimator.add(position: self.position, time: stamp - self.anchor) {
          self.steps += 1
          self.anchor = stamp
          (self.position, self.made) = (0, 0)
          self.estimator.restart()
          _ = self.estimator.add(position: 0, time: 0)
        }
        let before = self.control.deviation
        self.control.update(
          drift: self.estimator.drift * self.estimator.confidence,
          error: self.estimator.time(at: self.position) - self.made, elapsed: self.block)
        let deviation = self.control.deviation
        worst.slew = max(worst.slew, abs(deviation - before) / self.block)
        worst.deviation = max(worst.deviation, abs(deviation))
        worst.error = max(worst.error, abs(self.trueTime - self.anchor - self.made))
        self.made += self.block * (1 + deviation)
        self.position += self.block
        self.trueTime += self.block * (1 + self.drift)
      }
      return worst
    }
  }

  /// Chance that is the same each time.
  struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      self.state &+= 0x9e37_79b9_7f4a_7c15
      var mixed = self.state
      mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
      return mixed ^ (mixed >> 31)
    }
  }

  @Test(arguments: [0.001, -0.001, 0.000_05, 0])
  func `a day with a clock that is wrong stays within 10 ms, and within one after the first minutes`(drift: Double) {
    var simulation = Simulation(drift: drift, block: 0.05)
    let start = simulation.run(seconds: 300)
    #expect(start.error < 0.010)
    #expect(start.slew <= RateControl.slew * 1.001)
    #expect(start.deviation <= abs(drift) + RateControl.correction)
    let day = simulation.run(seconds: 86_400)
    #expect(day.error < 0.000_1)
    #expect(abs(simulation.control.deviation - drift) < 2e-6)
    #expect(simulation.steps == 0)
  }

  @Test(arguments: [0.001, -0.001])
  func `timestamps that stray by 5 ms are seen through`(drift: Double) {
    var simulation = Simulation(drift: drift)
    let jitter: (inout SplitMix, Double) -> Double = { random, _ in Double.random(in: -0.005...0.005, using: &random) }
    #expect(simulation.run(seconds: 300, jitter: jitter).error < 0.018)
    let later = simulation.run(seconds: 3_600, jitter: jitter)
    #expect(later.error < 0.006, "half of it may be that of the very first timestamp")
    #expect(later.deviation < 0.001 + 0.000_1)
    #expect(simulation.steps == 0)
  }

  @Test func `deliveries that come late in bursts are not believed`() {
    var simulation = Simulation(drift: 0.001)
    // Each second 40 ms are stamped 30 to 200 ms late.
    let bursts: (inout SplitMix, Double) -> Double = { random, time in
      time.truncatingRemainder(dividingBy: 1) < 0.04 ? Double.random(in: 0.03...0.2, using: &random) : 0
    }
    #expect(simulation.run(seconds: 300, jitter: bursts).error < 0.012)
    #expect(simulation.run(seconds: 600, jitter: bursts).error < 0.001)
    #expect(simulation.steps == 0)
  }

  @Test func `nonsense at the start is left behind with one step`() {
    var simulation = Simulation(drift: -0.001)
    let nonsense: (inout SplitMix, Double) -> Double = { random, time in
      time < 0.3 ? Double.random(in: -100...100, using: &random) : 0
    }
    _ = simulation.run(seconds: 5, jitter: nonsense)
    #expect(1...2 ~= simulation.steps)
    #expect(simulation.run(seconds: 60, jitter: nonsense).error < 0.010)
    #expect(simulation.run(seconds: 600, jitter: nonsense).error < 0.001)
    #expect(1...2 ~= simulation.steps)
  }

  @Test func `a step is followed within two seconds, and what was learnt of the clock is kept`() {
    var simulation = Simulation(drift: 0.001)
    _ = simulation.run(seconds: 120)
    #expect(simulation.steps == 0)
    // 0.7 s of sound are missing, and nobody says so.
    simulation.trueTime += 0.7
    _ = simulation.run(seconds: 2)
    #expect(simulation.steps == 1)
    let after = simulation.run(seconds: 600)
    #expect(after.error < 0.001)
    #expect(abs(simulation.control.deviation - 0.001) < 2e-6)
    #expect(simulation.steps == 1)
  }

  @Test func `timestamps that never agree are not followed at all`() {
    var simulation = Simulation(drift: 0)
    let chaos: (inout SplitMix, Double) -> Double = { random, time in
      time < 60 ? 0 : Double.random(in: -3_600...3_600, using: &random)
    }
    #expect(simulation.run(seconds: 600, jitter: chaos).error < 0.010)
    #expect(simulation.steps == 0)
  }

  @Test func `a clock that changes with the room's warmth is followed`() {
    var simulation = Simulation(drift: 0.000_05)
    _ = simulation.run(seconds: 600)
    for step in 1...100 {
      simulation.drift = 0.000_05 - Double(step) * 0.000_001
      #expect(simulation.run(seconds: 10).error < 0.002)
    }
  }

  @Test func `a device that is more wrong than may be corrected is limited`() {
    var simulation = Simulation(drift: 0.009)
    #expect(simulation.run(seconds: 120).deviation <= RateControl.limit)
  }
}
