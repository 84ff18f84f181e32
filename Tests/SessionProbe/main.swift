// Test program that runs sessions under bad networks in virtual time, on all processors, and prints one line for each figure
// of a seed that is out of its range, one for each scenario with the number of such seeds and its limit, and the time they took:
//
//   SessionProbe SEEDS [SCENARIO…]
//   SessionProbe storm DATAGRAMS
//
// Each scenario of SessionScenario, or each named one, runs with the seeds 0 to SEEDS - 1. The exit status is 1 where more seeds of a
// scenario are out of its ranges than `SessionScenario.tolerance` allows. The program is built with optimization: a minute of a session
// takes some hundredths of a second, and in debug builds seconds.
//
// A storm is of requests for packets in the second behind three seconds of a stream; it prints how many were sent again. The
// difference between two runs under valgrind is what a datagram costs.

import Foundation
import WebRTCPeers

let arguments = CommandLine.arguments.dropFirst()
if arguments.first == "storm", let count = arguments.last.flatMap({ Int($0) }), count >= 0 {
  var path = SimulatedPath.Conditions()
  path.rates = [(0, 20_000_000)]
  var session = try SimulatedSession(path, seed: 1, fixedBitrate: 4_500_000)
  try session.run(seconds: 4)
  print("\(session.storm(datagramCount: count)) packets were sent again")
  exit(0)
}
guard let seedCount = arguments.first.flatMap({ UInt64($0) }), seedCount > 0 else {
  print("usage: SessionProbe SEEDS [SCENARIO…] | storm DATAGRAMS")
  exit(64)
}
let names = arguments.dropFirst()
let scenarios = SessionScenario.allCases.filter { names.isEmpty || names.contains($0.rawValue) }
guard !scenarios.isEmpty else {
  print("scenarios: \(SessionScenario.allCases.map(\.rawValue).joined(separator: ", "))")
  exit(64)
}

/// A seed with figures that are out of their ranges.
struct Failure: Sendable {
  var scenario: SessionScenario
  var lines: [String]
}

/// Runs seeds on all processors.
nonisolated func failures(_ runs: [(scenario: SessionScenario, seed: UInt64)]) async throws -> [Failure] {
  let taskCount = ProcessInfo.processInfo.activeProcessorCount
  return try await withThrowingTaskGroup(of: [Failure].self) { group in
    for task in 0..<taskCount {
      // Scenarios differ in duration: each task has a part of each.
      let part = stride(from: task, to: runs.count, by: taskCount).map { runs[$0] }
      group.addTask {
        try part.compactMap { run in
          let lines = try run.scenario.failures(seed: run.seed)
          return lines.isEmpty ? nil : Failure(scenario: run.scenario, lines: lines)
        }
      }
    }
    return try await group.reduce(into: []) { $0 += $1 }
  }
}

let start = ContinuousClock.now
let runs = scenarios.flatMap { scenario in (0..<seedCount).map { (scenario: scenario, seed: $0) } }
let failed = try await failures(runs)
for line in failed.flatMap(\.lines).sorted() { print(line) }
let duration = (ContinuousClock.now - start) / .seconds(1)
var isGood = true
for scenario in scenarios {
  let count = failed.count { $0.scenario == scenario }
  // Rounded down: a few seeds must all be good.
  let limit = Int(seedCount) * scenario.tolerance / 100
  print("\(scenario): \(count) of \(seedCount) seeds are out of their ranges, \(limit) may be")
  if count > limit { isGood = false }
}
let text = String(format: "%.1f", duration)
print("\(runs.count) seeds in \(text) s, \(failed.count) of them with figures out of their ranges")
exit(isGood ? 0 : 1)
