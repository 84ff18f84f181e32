import Foundation
import TestSupport
import Testing

extension EndToEnd {
  @Suite("WebRTC players: Chromium on a bare page, aiortc")
  struct WebRTCPlayers {
    private static let bars = [
      "--source", "bars", "--audio", "none", "--size", "640x360", "--fps", "30", "--webrtc-port", "0", "--cors", "*",
    ]

    /// Output of whep_play.py.
    private struct Seen: Decodable {
      var status: Int
      var cipher: String?
      var connection: String?
      var decoded: Int?
      var received: Int?
      var width: Int?
      var deviation: Double?
      var freezes: Int?
      var restart: [Restart]?
      var latencies: Int?
      var medianLatency: Double?
      var firstFrameSeconds: Double?
      var deleted: Int?
      var deletedAgain: Int?

      /// Status, and whether the entity tag changed.
      enum Restart: Decodable, Equatable {
        case status(Int)
        case changed(Bool)

        init(from decoder: any Decoder) throws {
          let container = try decoder.singleValueContainer()
          if let hasChanged = try? container.decode(Bool.self) {
            self = .changed(hasChanged)
          } else {
            self = .status(try container.decode(Int.self))
          }
        }
      }
    }

    private static func play(_ url: String, _ options: String...) async throws -> Seen {
      let run = try await Tool.run(
        "python3", [TestMedia.client("whep_play.py"), url] + options, within: .seconds(100))
      try #require(run.succeeded, "\(run.errors)")
      return try JSONDecoder().decode(Seen.self, from: Data(run.output))
    }

    @Test(.tags(.timing))
    func `a bare page in Chromium shows the stream in real time, restarts ICE, and ends the session`() async throws {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        let seen = try await Self.play(vidicon.page("/live/whep"), "--restart")
        #expect(seen.status == 201 && seen.width == 640 && seen.cipher == "SRTP_AEAD_AES_128_GCM")
        #expect(try #require(seen.decoded) >= 100 && seen.connection == "connected")
        // Bars, not a gray frame.
        #expect(try #require(seen.deviation) > 40)
        #expect(try #require(seen.latencies) > 60)
        #expect(try #require(seen.medianLatency) < 0.3)
        #expect(seen.restart == [.status(200), .changed(true)])
        #expect(seen.deleted == 200 && seen.deletedAgain == 404)
        let metrics = try await Metrics(of: vidicon)
        #expect(try #require(metrics.sum("vidicon_sent_bytes_total", "protocol=\"webrtc\"")) > 10_000)
        #expect(metrics.sum("vidicon_viewers", "protocol=\"webrtc\"") == 0)
      }
    }

    @Test func `a browser whose certificate is not the offered one gets no media`() async throws {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        let seen = try await Self.play(vidicon.page("/live/whep"), "--wrong-fingerprint")
        #expect(seen.status == 201 && seen.decoded == 0 && seen.received == 0 && seen.width == 0)
        #expect(vidicon.child.errors.text.contains("a viewer has another certificate than it offered"))
      }
    }

    @Test func `a rendition plays in Chromium, and a token is needed where watching is protected`() async throws {
      let token = "0123456789abcdef0123456789abcdef"
      try await TestMedia.withTemporaryFolder { folder in
        let file = "\(folder)/vidicon.yaml"
        try "users:\n  - token: \(token)\n    role: viewer\n".write(toFile: file, atomically: true, encoding: .utf8)
        let low = ["--rendition", "name=low,size=320x180,bitrate=200k", "--config", file]
        try await VidiconProcess.serving(Self.bars + low) { vidicon in
          #expect(try await Self.play(vidicon.page("/live/low/whep")).status == 401)
          let seen = try await Self.play(vidicon.page("/live/low/whep"), "--bearer", token)
          #expect(seen.status == 201 && seen.width == 320 && seen.deleted == 200)
        }
      }
    }

    /// Output of page_webrtc.py.
    private struct Shown: Decodable {
      var way: String
      var shownLatency: Double
      var medianLatency: Double
      var loudest: Double
      var complaints: [String]
    }

    @Test(.tags(.timing), arguments: [false, true])
    func `the page plays video and audio by WebRTC, and by HLS where the browser has none`(
      isWithout: Bool
    ) async throws {
      let bars = ["--source", "bars", "--audio", "tone", "--size", "640x360", "--fps", "30", "--webrtc-port", "0"]
      try await VidiconProcess.serving(bars) { vidicon in
        let run = try await Tool.run(
          "python3",
          [TestMedia.client("page_webrtc.py"), vidicon.page("/live")] + (isWithout ? ["--without"] : []),
          within: .seconds(100))
        try #require(run.succeeded, "\(run.errors)")
        let shown = try JSONDecoder().decode(Shown.self, from: Data(run.output))
        #expect(shown.complaints == [])
        if isWithout {
          #expect(shown.way == "HLS, low latency")
        } else {
          #expect(shown.way == "WebRTC, real time" && shown.loudest > 0.01)
          #expect(shown.medianLatency < 0.5)
          #expect(abs(shown.shownLatency - shown.medianLatency) < 0.5)
        }
      }
    }

    /// Output of whep_aiortc.py.
    private struct Received: Decodable {
      var status: Int
      var width: Int?
      var height: Int?
      var deviation: Double?
      var isMonotonic: Bool?
      var seconds: Double?
      var deleted: Int?
    }

    @Test func `aiortc decodes two seconds in their order`() async throws {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        let run = try await Tool.run(
          "env",
          ["PYTHONPATH=\(try TestMedia.file("aiortc"))", "python3", TestMedia.client("whep_aiortc.py")]
            + [vidicon.page("/live/whep")], within: .seconds(60))
        try #require(run.succeeded, "\(run.errors)")
        let received = try JSONDecoder().decode(Received.self, from: Data(run.output))
        #expect(received.status == 201 && received.width == 640 && received.height == 360)
        #expect(try #require(received.deviation) > 40 && received.isMonotonic == true)
        #expect(try #require(received.seconds) > 1.5 && received.deleted == 200)
      }
    }
  }
}
