import Media
import TestSupport
import Testing

@testable import CaptureDevices

@Suite("Clock recovery of an audio device, in virtual time")
struct DriftEstimatorTests {
  /// A device with a drifting clock and a resampler with the controlled rate; all times in seconds.
  struct Simulation {
    var drift: Double
    var block = 0.01
    var estimator = DriftEstimator()
    var controller = ResamplingRateController()
    /// The device's time since the anchor, and the true time.
    var position = 0.0
    var trueTime = 0.0
    /// Duration of the output, and the true time of its start.
    var output = 0.0
    var anchor = 0.0
    var steps = 0
    var random = SplitMix(seed: 1)

    /// Simulates blocks whose timestamps have a jitter, and returns the maximum offset between output and true time, and
    /// the maximum deviation and slew of the resampling rate.
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
          (self.position, self.output) = (0, 0)
          self.estimator.restart()
          _ = self.estimator.add(position: 0, time: 0)
        }
        let before = self.controller.deviation
        self.controller.update(
          drift: self.estimator.drift * self.estimator.confidence,
          error: self.estimator.time(at: self.position) - self.output, elapsed: self.block)
        let deviation = self.controller.deviation
        worst.slew = max(worst.slew, abs(deviation - before) / self.block)
        worst.deviation = max(worst.deviation, abs(deviation))
        worst.error = max(worst.error, abs(self.trueTime - self.anchor - self.output))
        self.output += self.block * (1 + deviation)
        self.position += self.block
        self.trueTime += self.block * (1 + self.drift)
      }
      return worst
    }
  }

  @Test(arguments: [0.001, -0.001, 0.000_05, 0])
  func `a drifting clock is followed for a day, within 10 ms at first and 0.1 ms after the first minutes`(drift: Double)
  {
    var simulation = Simulation(drift: drift, block: 0.05)
    let start = simulation.run(seconds: 300)
    #expect(start.error < 0.010)
    #expect(start.slew <= ResamplingRateController.maximumSlew * 1.001)
    #expect(start.deviation <= abs(drift) + ResamplingRateController.maximumCorrection)
    let day = simulation.run(seconds: 86_400)
    #expect(day.error < 0.000_1)
    #expect(abs(simulation.controller.deviation - drift) < 2e-6)
    #expect(simulation.steps == 0)
  }

  @Test(arguments: [0.001, -0.001])
  func `a jitter of 5 ms is filtered out`(drift: Double) {
    var simulation = Simulation(drift: drift)
    let jitter: (inout SplitMix, Double) -> Double = { random, _ in Double.random(in: -0.005...0.005, using: &random) }
    #expect(simulation.run(seconds: 300, jitter: jitter).error < 0.018)
    let later = simulation.run(seconds: 3_600, jitter: jitter)
    #expect(later.error < 0.006, "the first timestamp may account for 5 ms")
    #expect(later.deviation < 0.001 + 0.000_1)
    #expect(simulation.steps == 0)
  }

  @Test func `bursts of late timestamps are ignored`() {
    var simulation = Simulation(drift: 0.001)
    // Each second 40 ms are stamped 30 to 200 ms late.
    let bursts: (inout SplitMix, Double) -> Double = { random, time in
      time.truncatingRemainder(dividingBy: 1) < 0.04 ? Double.random(in: 0.03...0.2, using: &random) : 0
    }
    #expect(simulation.run(seconds: 300, jitter: bursts).error < 0.012)
    #expect(simulation.run(seconds: 600, jitter: bursts).error < 0.001)
    #expect(simulation.steps == 0)
  }

  @Test func `random timestamps at the start are corrected with one step`() {
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

  @Test func `a step is followed within two seconds, and the known drift is kept`() {
    var simulation = Simulation(drift: 0.001)
    _ = simulation.run(seconds: 120)
    #expect(simulation.steps == 0)
    // 0.7 s of audio are lost without a report.
    simulation.trueTime += 0.7
    _ = simulation.run(seconds: 2)
    #expect(simulation.steps == 1)
    let after = simulation.run(seconds: 600)
    #expect(after.error < 0.001)
    #expect(abs(simulation.controller.deviation - 0.001) < 2e-6)
    #expect(simulation.steps == 1)
  }

  @Test func `inconsistent timestamps are not followed`() {
    var simulation = Simulation(drift: 0)
    let chaos: (inout SplitMix, Double) -> Double = { random, time in
      time < 60 ? 0 : Double.random(in: -3_600...3_600, using: &random)
    }
    #expect(simulation.run(seconds: 600, jitter: chaos).error < 0.010)
    #expect(simulation.steps == 0)
  }

  @Test func `a clock whose drift changes with temperature is followed`() {
    var simulation = Simulation(drift: 0.000_05)
    _ = simulation.run(seconds: 600)
    for step in 1...100 {
      simulation.drift = 0.000_05 - Double(step) * 0.000_001
      #expect(simulation.run(seconds: 10).error < 0.002)
    }
  }

  @Test func `the deviation is limited for a device with excessive drift`() {
    var simulation = Simulation(drift: 0.009)
    #expect(simulation.run(seconds: 120).deviation <= ResamplingRateController.maximumDeviation)
  }
}
