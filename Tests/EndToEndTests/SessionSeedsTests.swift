import Foundation
import TestSupport
import Testing

extension EndToEnd {
  @Suite("WebRTC sessions under bad networks, by hundreds of seeds")
  struct SessionSeeds {
    /// Seeds of each of the eight scenarios.
    private static let seeds = ProcessInfo.processInfo.environment["VIDICON_SEEDS"].flatMap { Int($0) } ?? 200

    /// Virtual time: the result does not depend on the machine. The program is beside vidicon in the release build.
    @Test(.tags(.demanding))
    func `of two hundred seeds of each bad network, no more are out of their bounds than this network is allowed`()
      async throws
    {
      let probe = try Self.probe()
      let run = try await Tool.run("nice", ["-n", "19", probe, "\(Self.seeds)"], within: .seconds(200))
      // One line for each scenario, and the last.
      for line in run.outputText.split(separator: "\n").suffix(9) { print("seeds: \(line)") }
      #expect(run.succeeded, "\(run.outputText.prefix(2_000)) \(run.errors.suffix(500))")
      #expect(run.outputText.contains("\(8 * Self.seeds) seeds in"))
    }

    /// The release build's SessionProbe.
    private static func probe() throws -> String {
      let probe = URL(fileURLWithPath: try VidiconProcess.path()).deletingLastPathComponent()
        .appendingPathComponent("SessionProbe").path
      guard FileManager.default.isExecutableFile(atPath: probe) else { throw Tool.Missing(name: probe) }
      return probe
    }

    /// Packets that are sent again in a storm of requests, and the instructions of the whole run, in user mode.
    private static func storm(_ probe: String, datagrams: Int) async throws -> (packets: Int, instructions: Int) {
      let run = try await Tool.run(
        "valgrind",
        [
          "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", probe, "storm", "\(datagrams)",
        ], within: .seconds(600))
      try #require(run.succeeded, "\(run.errors.suffix(500))")
      let packets = run.outputText.split(separator: " ").first.flatMap { Int($0) }
      let instructions = run.errors.firstMatch(of: /I\s+refs:\s+([\d,]+)/)
        .flatMap { Int($0.1.replacing(",", with: "")) }
      return (try #require(packets), try #require(instructions))
    }

    /// In a second, of a client that has all of three seconds of 4.5 Mb/s sent again. Instructions do not depend on the machine.
    @Test func `a storm of requests costs what is sent again, and little for what is dropped`() async throws {
      let (none, some, many, excessive) = try await TestMedia.withTemporaryFolder { folder in
        // Valgrind does not know all of the debug information.
        let probe = "\(folder)/probe"
        try #require(await Tool.run("strip", ["-o", probe, Self.probe()], within: .seconds(60)).succeeded)
        return (
          try await Self.storm(probe, datagrams: 0), try await Self.storm(probe, datagrams: 10),
          try await Self.storm(probe, datagrams: 200), try await Self.storm(probe, datagrams: 2_000)
        )
      }
      // Each datagram names 6,120 packets; 2,000 are looked at in a second, and 200 datagrams.
      let answered = (some.instructions - none.instructions) / max(1, some.packets)
      let within = (many.instructions - some.instructions) / 190
      let beyond = (excessive.instructions - many.instructions) / 1_800
      print(
        "storm: \(answered) instructions for each of \(some.packets) packets that are sent again, \(within) for a datagram "
          + "of 6,120 more requests, \(beyond) for one beyond 200 in a second")
      #expect(none.packets == 0 && some.packets > 100 && excessive.packets <= 4_000)
      #expect(answered <= 20_000 && within <= 100_000 && beyond <= 20_000)
    }
  }
}
