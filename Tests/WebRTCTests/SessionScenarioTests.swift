import Foundation
import Testing
import WebRTCPeers

@Suite("Sessions under a bad network, by seed")
struct SessionScenarioTests {
  /// Seeds of each scenario: VIDICON_SEEDS, 2 by default. SessionProbe, which is optimized, runs hundreds of them.
  private static let seedCount = ProcessInfo.processInfo.environment["VIDICON_SEEDS"].flatMap { UInt64($0) } ?? 2

  @Test(arguments: SessionScenario.allCases)
  func `every seed meets the figures of its scenario`(scenario: SessionScenario) throws {
    for seed in 0..<Self.seedCount { #expect(try scenario.failures(seed: seed) == []) }
  }

  @Test func `a seed gives the same in each run`() throws {
    let (first, second) = (try SessionScenario.steps.run(seed: 1), try SessionScenario.steps.run(seed: 1))
    #expect(first.receiver.shown == second.receiver.shown && first.receiver.shown.count > 1500)
  }
}
