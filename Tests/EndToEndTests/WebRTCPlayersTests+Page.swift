import Foundation
import Testing

// The page of the program.
extension EndToEnd.WebRTCPlayers {
  /// Output of page_webrtc.py.
  struct Shown: Decodable {
    var way: String
    var shownLatency: Double
    var medianLatency: Double
    var loudest: Double
    /// Frequencies of both channels in Hz, with `--tones`.
    var tones: [Double]?
    var complaints: [String]
  }

  @Test(.tags(.timing), arguments: [[], ["--without"], ["--browser", "firefox"]])
  func `the page plays video and audio by WebRTC, and by HLS where the browser has none, or none with H.264`(
    options: [String]
  ) async throws {
    let bars = ["--source", "bars", "--audio", "tone", "--size", "640x360", "--fps", "30", "--webrtc-port", "0"]
    try await VidiconProcess.serving(bars) { vidicon in
      let run = try await Tool.run(
        "python3",
        [TestMedia.client("page_webrtc.py"), vidicon.page("/live")] + options,
        within: .seconds(100))
      try #require(run.succeeded, "\(run.errors)")
      let shown = try JSONDecoder().decode(Shown.self, from: Data(run.output))
      #expect(shown.complaints == [])
      if !options.isEmpty {
        #expect(shown.way == "HLS, low latency")
      } else {
        #expect(shown.way == "WebRTC, real time" && shown.loudest > 0.01)
        report("median latency, s", shown.medianLatency, limit: 0.5)
        #expect(shown.medianLatency < 0.5)
        #expect(abs(shown.shownLatency - shown.medianLatency) < 0.5)
      }
    }
  }

  /// Output of page_network.py.
  private struct Survived: Decodable {
    struct Step: Decodable {
      var seconds: Double
      var way: String
      var methods: [String]
    }

    var begin: Step
    var rebound: Step
    var moved: Step
    var failed: Step
    var hidden: Step
    var frozen: Step
    var slept: Step
  }

  @Test(.tags(.demanding))
  func
    `the page plays on after other ports, another address, a time in a hidden tab, and ten seconds without network`()
    async throws
  {
    let seen: Survived = try await EndToEnd.Browsers.drive(
      "page_network.py", [VidiconProcess.path()], within: .seconds(300))
    let steps = [
      ("begin", seen.begin), ("rebound", seen.rebound), ("moved", seen.moved), ("hidden", seen.hidden),
      ("failed", seen.failed), ("frozen", seen.frozen), ("slept", seen.slept),
    ]
    for (name, step) in steps {
      report("page plays on after: \(name), s", step.seconds, limit: 30)
      #expect(step.seconds <= 30, "\(name): \(step)")
    }
    // Other ports and another address need nothing of the page: the browser checks its addresses itself. A network that fails for ten
    // seconds needs a new session, or a restart of ICE.
    #expect(seen.rebound.way == "WebRTC, real time" && seen.moved.way == "WebRTC, real time")
    #expect(seen.failed.methods.contains { ["PATCH", "POST"].contains($0) }, "\(seen.failed.methods)")
    // A page that is frozen ends its session, and begins another one.
    let posts = [seen.failed, seen.frozen, seen.slept].map { $0.methods.count { $0 == "POST" } }
    #expect(posts[1] > posts[0] && posts[2] > posts[1], "\(seen.slept.methods)")
  }

  /// Output of page_realtime.py.
  private struct Remembered: Decodable {
    var reloaded: String
    var remembered: String
    var exit: Int
    var message: String
    var restarted: String
  }

  @Test(.tags(.timing))
  func `the page remembers how to play, says that the server has stopped, and plays on when it is back`() async throws {
    let run = try await Tool.run(
      "python3", [TestMedia.client("page_realtime.py"), VidiconProcess.path()], within: .seconds(100))
    try #require(run.succeeded, "\(run.errors)")
    let seen = try JSONDecoder().decode(Remembered.self, from: Data(run.output))
    #expect(seen.reloaded == "HLS, low latency" && seen.remembered == "smooth")
    #expect(seen.exit == 0 && seen.message.contains("lost") && seen.restarted == "WebRTC, real time")
  }
}
