import Foundation
import Testing

extension EndToEnd {
  @Suite("WebRTC sessions under bad networks, by hundreds of seeds")
  struct SessionSeeds {
    /// Seeds of each of the eight scenarios.
    private static let seeds = ProcessInfo.processInfo.environment["VIDICON_SEEDS"].flatMap { Int($0) } ?? 50

    /// Virtual time: the result does not depend on the machine. The program is beside vidicon in the release build.
    @Test(.tags(.demanding)) func `of fifty seeds of each bad network, one at most is out of its bounds`()
      async throws
    {
      let probe = URL(fileURLWithPath: try VidiconProcess.path()).deletingLastPathComponent()
        .appendingPathComponent("SessionProbe").path
      guard FileManager.default.isExecutableFile(atPath: probe) else { throw Tool.Missing(name: probe) }
      let run = try await Tool.run("nice", ["-n", "19", probe, "\(Self.seeds)"], within: .seconds(200))
      print("seeds: \(run.outputText.split(separator: "\n").last ?? "")")
      #expect(run.succeeded, "\(run.outputText.prefix(2_000)) \(run.errors.suffix(500))")
      #expect(run.outputText.contains("\(8 * Self.seeds) seeds in"))
    }
  }
}
