import Foundation
import Testing

extension EndToEnd {
  @Suite("WebRTC under a bad network: viewers behind a link that loses, delays, reorders, and fails")
  struct BadNetworks {
    /// Duration of the loss in seconds.
    private static let seconds =
      ProcessInfo.processInfo.environment["VIDICON_NETWORK_SECONDS"].flatMap { Int($0) } ?? 60

    /// Runs a scenario of bad_network.py, and decodes the figures that it prints.
    private static func run<Figures: Decodable>(
      _ scenario: String, seconds: Int? = nil, as type: Figures.Type = Figures.self
    ) async throws -> Figures {
      let options = seconds.map { ["--seconds", "\($0)"] } ?? []
      let run = try await Tool.run(
        "python3", [TestMedia.client("bad_network.py"), VidiconProcess.path(), scenario] + options,
        within: .seconds(300 + (seconds ?? 0)))
      print("network: \(scenario): \(run.outputText)")
      try #require(run.succeeded, "\(run.errors.suffix(2_000))")
      return try JSONDecoder().decode(type, from: Data(run.output))
    }

    /// Figures of "loss". Shares are those of the frames that were encoded meanwhile: 29 of 30 for 29 frames a second.
    private struct Loss: Decodable {
      struct Burst: Decodable {
        var secondsToFrames: Double
        var frameShareAfter: Double
      }

      var frameShare: Double
      var freezes: Int
      var additionalKeyframes: Double
      var packetsLost: Int
      var burst: Burst
    }

    @Test(.tags(.timing)) func `two percent of loss freeze nothing, and a burst of ten is over at once`() async throws {
      let seen: Loss = try await Self.run("loss", seconds: Self.seconds)
      report("freezes at 2% of loss", Double(seen.freezes), limit: 0)
      report("share of the frames that are shown at 2% of loss", seen.frameShare, limit: -29.0 / 30)
      report("further keyframes at 2% of loss", seen.additionalKeyframes, limit: 1)
      #expect(seen.freezes == 0 && seen.frameShare >= 29.0 / 30)
      #expect(seen.additionalKeyframes <= 1)
      #expect(seen.packetsLost > Self.seconds)
      report("burst: seconds to frames", seen.burst.secondsToFrames, limit: 0.5)
      #expect(seen.burst.secondsToFrames <= 0.5 && seen.burst.frameShareAfter >= 0.95)
    }

    /// Figures of "changes".
    private struct Changes: Decodable {
      struct Change: Decodable {
        var frameShare: Double
        var secondsToFrames: Double?
        var freezes: Int?
      }

      var reordered: Change
      var rebound: Change
      var outage: Change
      var sessions: Int
      var connection: String
    }

    @Test(.tags(.timing)) func `media continue after reordering, another port of the viewer, and five seconds without`()
      async throws
    {
      let seen: Changes = try await Self.run("changes")
      #expect(seen.reordered.freezes == 0 && seen.reordered.frameShare >= 0.95)
      // Chromium checks its path every two and a half seconds.
      report("rebound: seconds to frames", seen.rebound.secondsToFrames ?? 9, limit: 4)
      #expect(seen.rebound.secondsToFrames ?? 9 <= 4 && seen.rebound.frameShare >= 0.9)
      report("outage: seconds to frames", seen.outage.secondsToFrames ?? 9, limit: 3)
      #expect(seen.outage.secondsToFrames ?? 9 <= 3 && seen.outage.frameShare >= 0.9)
      #expect(seen.sessions == 1 && seen.connection == "connected")
    }

    /// Figures of "joins".
    private struct Joins: Decodable {
      var median: Double
      /// The 95th percentile.
      var late: Double
      var seconds: [Double]
    }

    /// Few joins take longer: those that lose packets of their POST, or a flight of DTLS twice.
    @Test(.tags(.timing)) func `frames are shown within a second and a half at 100 ms of round trip and 5% of loss`()
      async throws
    {
      // Of six the median is beyond a second in one run of four. Where 2% of the joins are late, so is the
      // 95th percentile in one run of twenty; of thirty joins in one of eight.
      let count = 100
      let seen: Joins = try await Self.run("joins", seconds: count)
      report("median of joins, s", seen.median, limit: 1)
      report("95th percentile of joins, s", seen.late, limit: 1.5)
      #expect(seen.seconds.count == count && seen.median <= 1 && seen.late <= 1.5, "\(seen.seconds)")
    }

    /// From 150 ms of round trip on, Chromium's nomination follows a second after its first checks: no frame waits for it.
    @Test(.tags(.timing)) func `frames are shown within one and a half seconds of the POST at 200 ms of round trip`()
      async throws
    {
      let seen: Joins = try await Self.run("far", seconds: 8)
      // Round trips: one for the POST, one for checks, two for DTLS, half of one for the frame.
      report("median of joins at 200 ms of round trip, s", seen.median, limit: 1.5)
      report("95th percentile of joins at 200 ms of round trip, s", seen.late, limit: 1.5)
      #expect(seen.seconds.count == 8 && seen.late <= 1.5, "\(seen.seconds)")
    }

    @Test(.tags(.timing)) func `frames are shown within 0_3 s of the POST on a link without faults`() async throws {
      let seen: Joins = try await Self.run("near", seconds: 20)
      report("median from the POST to the first frame, s", seen.median, limit: 0.3)
      report("95th percentile from the POST to the first frame, s", seen.late, limit: 0.3)
      #expect(seen.seconds.count == 20 && seen.late <= 0.3, "\(seen.seconds)")
    }

    /// Figures of "crowd".
    private struct Crowd: Decodable {
      var secondsToLow: Double
      var slowWidth: Int
      var slowFrameShare: Double
      var frameShares: [Double]
      var lost: Int
      var framesSkipped: Int
      var rateShares: [Double]
    }

    @Test(.tags(.timing)) func `one slow viewer of ten gets the low rendition, and the nine lose nothing`() async throws
    {
      let seen: Crowd = try await Self.run("crowd")
      report("seconds to the smaller rendition", seen.secondsToLow, limit: 5)
      #expect(seen.secondsToLow <= 5 && seen.slowWidth == 320 && seen.slowFrameShare > 0.5)
      #expect(seen.lost == 0 && seen.framesSkipped == 0)
      #expect(seen.frameShares.count == 9 && seen.frameShares.allSatisfy { $0 >= 0.95 }, "\(seen.frameShares)")
      #expect(seen.rateShares.count == 9 && seen.rateShares.allSatisfy { $0 >= 0.95 }, "\(seen.rateShares)")
    }

    /// Figures of "steps".
    private struct Steps: Decodable {
      var used: Double
      var maximumQueue: Double
      var queue: Double
      var usedAfterFall: Double
      var secondsToRate: Double?
    }

    /// Test of most of a minute; in virtual time, SessionSeeds has the same bounds.
    @Test(.tags(.timing)) func `the only viewer's bitrate follows its link from 4 to 0_8 Mb per second and back`()
      async throws
    {
      let seen: Steps = try await Self.run("steps", seconds: 15)
      #expect(seen.used >= 0.7)
      // The queue was measured.
      #expect(seen.maximumQueue > 0)
      report("queue, s", seen.queue, limit: 0.2)
      report("share of 0.8 Mb/s that is used", seen.usedAfterFall, limit: -0.75)
      #expect(seen.queue <= 0.2 && seen.usedAfterFall >= 0.75)
      let regained = seen.secondsToRate ?? 99
      report("seconds to 80% of 4 Mb/s", regained, limit: 20)
      #expect(regained <= 20)
    }

    /// Figures of slow_for_a_while.py.
    private struct SlowForAWhile: Decodable {
      var secondsToAudio: Double
      var secondsToVideo: Double
      var secondsToMain: Double
      var rendition: String
      var width: Int
      var lastFrames: Int
    }

    @Test(.tags(.timing), arguments: ["aiortc", "chromium"])
    func `a viewer that had audio alone gets video again, and then the main rendition`(client: String) async throws {
      let run = try await Tool.run(
        "env",
        ["PYTHONPATH=\(try TestMedia.file("aiortc"))", "python3", TestMedia.client("slow_for_a_while.py")]
          + [VidiconProcess.path(), client], within: .seconds(400))
      print("network: audio alone, \(client): \(run.outputText)")
      try #require(run.succeeded, "\(run.errors.suffix(2_000))")
      let seen = try JSONDecoder().decode(SlowForAWhile.self, from: Data(run.output))
      report("seconds to audio alone, \(client)", seen.secondsToAudio, limit: 10)
      report("seconds to video again, \(client)", seen.secondsToVideo, limit: 20)
      report("seconds to the main rendition again, \(client)", seen.secondsToMain, limit: 120)
      #expect(seen.secondsToAudio <= 10 && seen.secondsToVideo <= 20 && seen.secondsToMain <= 120)
      // The trial of it has ended.
      #expect(seen.rendition == "main" && seen.width == 640 && seen.lastFrames > 30, "\(seen)")
    }
  }
}
