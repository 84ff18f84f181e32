import Foundation
import TestSupport
import Testing

extension Smoke {
  @Suite("Smoke: pages in browsers", .tags(.desktop))
  struct Pages {
    private typealias Browsers = EndToEnd.Browsers
    private typealias Players = EndToEnd.WebRTCPlayers

    @Test func `the page in Chromium plays video and audio, and shows the latency`() async throws {
      try await VidiconProcess.serving(Smoke.bars) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          let seen: Browsers.Seen = try await Browsers.drive(
            "page_play.py", [vidicon.page("/live"), folder, "--frames", "45"], within: .seconds(90))
          #expect(seen.width == 320 && seen.height == 180)
          #expect(seen.decoded >= 45)
          #expect(seen.moving > 0.05, "the frame stands still")
          #expect(seen.hasAudio && seen.loudest > 0.01, "\(seen.audio)")
          // Of a hundred frames at least one has a legible strip.
          #expect(seen.latencies > 0 && seen.complaints == [])
        }
      }
    }

    /// Output of page_settings.py.
    private struct PageSettings: Decodable {
      struct Changed: Decodable, Equatable {
        var mirror: Bool
        var rotation: Int
        var mute: Bool
        var pause: Bool
      }

      var groups: [String]
      var source: String
      var changed: Changed
      var preview: String
      var previewAsTold: Bool
      var problem: String
      var complaints: [String]
    }

    @Test(arguments: ["chromium", "firefox"])
    func `it switches sources, rotates the frame, and shows refusals`(
      browser: String
    ) async throws {
      try await VidiconProcess.serving(Smoke.bars) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          let seen: PageSettings = try await EndToEnd.Browsers.drive(
            "page_settings.py", [vidicon.page("/live"), folder, "--browser", browser], within: .seconds(90))
          #expect(seen.groups.contains("Test patterns"))
          #expect(seen.source == "plasma")
          #expect(seen.changed == .init(mirror: true, rotation: 90, mute: true, pause: true))
          // The preview is mirrored for this viewer only.
          #expect(seen.preview.hasPrefix("matrix(-1"))
          #expect(!seen.previewAsTold)
          #expect(seen.problem.contains("/dev/video99"))
          #expect(seen.complaints == [])
        }
      }
    }

    @Test func `the page shows controls to operators only, and removes the token from its address`() async throws {
      try await EndToEnd.Access.serving(["--control", "operators"]) { vidicon, folder in
        let path = try #require(vidicon.started.controlTokenFile)
        let token = try String(contentsOfFile: path, encoding: .utf8)
        let run = try await Tool.run(
          "python3", [TestMedia.client("page_control.py"), vidicon.page("/live"), token], within: .seconds(60))
        #expect(run.succeeded, "\(run.errors)")
      }
    }

    @Test func `a bare page in Chromium shows the stream by WebRTC, restarts ICE, and ends the session`() async throws {
      try await VidiconProcess.serving(Self.realTime + ["--audio", "none"]) { vidicon in
        let seen = try await Players.play(vidicon.page("/live/whep"), "--restart", "--frames", "30")
        #expect(seen.status == 201 && seen.width == 320 && seen.cipher == "SRTP_AEAD_AES_128_GCM")
        #expect(try #require(seen.decoded) >= 60 && seen.connection == "connected")
        #expect(Players.areBars(seen.colors), "\(seen.colors ?? [])")
        // The source has no audio.
        #expect(seen.currentDirections == ["recvonly", "inactive"] && seen.protocolName == "udp")
        #expect(seen.restart == [.status(200), .changed(true)])
        #expect(seen.deleted == 200 && seen.deletedAgain == 404)
        let metrics = try await Metrics(of: vidicon)
        #expect(try #require(metrics.sum("vidicon_sent_bytes_total", "protocol=\"webrtc\"")) > 10_000)
        try await waitUntil { try await Metrics(of: vidicon).sum("vidicon_viewers", "protocol=\"webrtc\"") == 0 }
      }
    }

    private static let realTime = ["--source", "bars", "--webrtc-port", "0", "--cors", "*"] + Smoke.format

    @Test func `the page in Chromium plays video and audio by WebRTC`() async throws {
      try await VidiconProcess.serving(Self.realTime + ["--audio", "tone"]) { vidicon in
        let run = try await Tool.run(
          "python3", [TestMedia.client("page_webrtc.py"), vidicon.page("/live")], within: .seconds(100))
        try #require(run.succeeded, "\(run.errors)")
        let shown = try JSONDecoder().decode(Players.Shown.self, from: Data(run.output))
        #expect(shown.way == "WebRTC, real time" && shown.loudest > 0.01 && shown.complaints == [])
      }
    }

    @Test func `OBS Studio shows the stream as a Media Source`() async throws {
      try await VidiconProcess.serving(Smoke.plasma) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          let options = ["--options", "rtsp_transport=tcp fpsprobesize=0 timeout=5000000", "--seconds", "4"]
          let seen = try await PlayedMedia.drive("obs_play.py", [vidicon.url(), folder] + options)
          #expect(seen.state == "OBS_MEDIA_STATE_PLAYING")
          try await seen.expectLiveVideo(width: 320, height: 180)
        }
      }
    }
  }
}
