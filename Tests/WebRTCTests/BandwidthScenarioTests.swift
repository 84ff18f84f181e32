import Media
import Testing
import WebRTCPeers

@testable import WebRTC

@Suite("Bandwidth estimation and pacing on simulated paths, by seed")
struct BandwidthScenarioTests {
  @Test(arguments: BandwidthScenario.allCases, 0..<4)
  func `every seed meets the figures of its scenario`(scenario: BandwidthScenario, group: UInt64) {
    for seed in group * 4..<group * 4 + 4 {
      for figure in scenario.figures(scenario.run(seed: seed)) {
        #expect(figure.range.contains(figure.value), "seed \(seed): \(figure.name) is \(figure.value)")
      }
    }
  }

  @Test(arguments: 0..<UInt64(6))
  func `a viewer of a fixed 2_3 Mb/s is known to be slow within two seconds, or never suspected`(seed: UInt64) {
    var conditions = BandwidthScenario.steady.conditions(seed: seed)
    conditions.rates = [(0, 1_000_000)]
    conditions.queueLength = 60_000
    var slow = SimulatedCall(conditions, seed: seed, bitrate: 2_500_000, encoder: 2_300_000)
    slow.run(seconds: 20)
    let slowEstimates = slow.moments(2...20).map(\.estimate)
    #expect(slowEstimates.count > 300 && slowEstimates.allSatisfy { $0 < 1_300_000 })
    #expect(slow.maximumQueue(3...20) <= 0.5)

    conditions.rates = [(0, 8_000_000)]
    conditions.queueLength = 200_000
    var quick = SimulatedCall(conditions, seed: seed, bitrate: 2_500_000, encoder: 2_300_000)
    quick.estimator.desiredBitrate = 3_000_000
    quick.run(seconds: 30)
    let quickEstimates = quick.moments(1...30).map(\.estimate)
    #expect(quickEstimates.count > 500 && quickEstimates.allSatisfy { $0 >= 2_300_000 })
    #expect(quick.keyframeCount == 15 && quick.pacer.dropCounts.frames == 0)
    // More than is wanted is not probed for.
    #expect(quick.paddingBytes < 20_000)
  }

  @Test(arguments: [false, true])
  func `a longer path, or another's queue, lowers the estimate for a moment only`(isLonger: Bool) {
    for seed in 0..<UInt64(4) {
      var conditions = BandwidthScenario.steady.conditions(seed: seed)
      conditions.rates = [(0, 3_000_000)]
      // A clock that is set by less than the jump that is taken for one looks like another path.
      conditions.clockStep = (isLonger ? 0.15 : -0.15, 20)
      var call = SimulatedCall(conditions, seed: seed)
      call.run(seconds: 45)
      #expect(call.arrivedBitrate(30...45) >= 0.7 * 3_000_000, "seed \(seed)")
    }
  }

  @Test func `a seed gives the same in each run`() {
    let (first, second) = (BandwidthScenario.steps.run(seed: 3), BandwidthScenario.steps.run(seed: 3))
    #expect(first.moments.map(\.estimate) == second.moments.map(\.estimate))
    #expect(first.arrivedBytes == second.arrivedBytes)
  }
}
