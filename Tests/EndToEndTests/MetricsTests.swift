import Foundation
import Testing

extension EndToEnd {
  @Suite("Metrics and the HTTP API")
  struct MetricsAndAPI {
    private static let streams = [
      "--stream", "name=live,source=bars,audio=tone,size=320x180", "--stream",
      "name=b/c.d~e,source=plasma,audio=none,size=320x180",
    ]

    @Test func `viewers are counted by protocol, and no counter decreases`() async throws {
      try await VidiconProcess.serving(Self.streams) { vidicon in
        let before = try await Self.read(vidicon)
        #expect(Self.viewers(before, "live") == ["rtsp": 0, "hls": 0, "mjpeg": 0])
        let port = vidicon.httpPort
        async let hls = FFmpeg.play(vidicon.page("/live/playlist.m3u8"), seconds: 6, options: [])
        async let first = FFmpeg.play(vidicon.url(), seconds: 8)
        async let second = FFmpeg.play(vidicon.url(), seconds: 8)
        let frames = try await waiting {
          let connection = try RawConnection(port: port)
          connection.send("GET /live/mjpeg?fps=5&width=64 HTTP/1.1\r\nHost: a\r\n\r\n")
          return connection
        }
        var counts: [String: Double] = [:]
        var last = before
        // Status events are one second apart.
        for _ in 0..<15 where counts != ["rtsp": 2, "hls": 1, "mjpeg": 1] {
          _ = try await vidicon.status { _ in true }
          let now = try await Self.read(vidicon)
          Self.expectNoFall(from: last, to: now)
          counts = Self.viewers(now, "live")
          last = now
        }
        #expect(counts == ["rtsp": 2, "hls": 1, "mjpeg": 1])
        #expect(Self.viewers(last, "b/c.d~e") == ["rtsp": 0, "hls": 0, "mjpeg": 0])
        let encoders = try #require(last.metrics["vidicon_encoders"]).samples
        #expect(
          encoders == [
            ["stream": "live", "kind": "video"]: 1, ["stream": "live", "kind": "audio"]: 1,
            ["stream": "b/c.d~e", "kind": "video"]: 1,
          ])
        for play in try await [hls, first, second] { #expect(play.run.succeeded, "\(play.run.errors)") }
        let sent = try #require(await Self.read(vidicon).metrics["vidicon_sent_bytes_total"]).samples
        for name in ["rtsp", "hls", "mjpeg"] {
          #expect(try #require(sent[["stream": "live", "protocol": name]]) > 100, "\(name)")
        }
        withExtendedLifetime(frames) {}
      }
    }

    @Test func `viewers that close or reset their connection are no longer counted`() async throws {
      try await VidiconProcess.serving(Self.streams) { vidicon in
        let port = vidicon.httpPort
        for leaves in ["in order", "by a reset"] {
          try await waiting {
            let connection = try RawConnection(port: port)
            connection.send("GET /live/mjpeg?fps=5&width=64 HTTP/1.1\r\nHost: a\r\n\r\n")
            guard case .bytes = connection.receive(within: .seconds(5)) else {
              throw RawConnection.Failure(what: "no frame", errno: 0)
            }
            if leaves == "by a reset" { connection.resetsAtEnd() }
          }
          var watching = 1.0
          for _ in 0..<5 where watching > 0 {
            _ = try await vidicon.status { _ in true }
            watching = try await Self.viewers(Self.read(vidicon), "live")["mjpeg"] ?? -1
          }
          #expect(watching == 0, "\(leaves)")
        }
      }
    }

    @Test(.tags(.pacing)) func `a cancelled request no longer waits, over HTTP/1.1 and HTTP/2`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let options = Self.streams + ["--https-port", "0"]
        try await VidiconProcess.serving(options, environment: ["XDG_STATE_HOME": folder]) { vidicon in
          let securePort = try #require(vidicon.started.httpsPort)
          // Two segments ahead: the request blocks for longer than this test needs.
          let query = "/live/playlist.m3u8?_HLS_msn=\(try await HLSFiles(of: vidicon, stream: "/live").lastNumber + 2)"
          try await Self.askAndReset(vidicon, query)
          #expect(try await Self.waitingCount(vidicon, reaching: 0) == 0)

          let input = ChildProcess.pipe()
          let script = TestMedia.client("h2_resets.py")
          let later = "/live/playlist.m3u8?_HLS_msn=\(try await HLSFiles(of: vidicon, stream: "/live").lastNumber + 2)"
          let client = try ChildProcess(
            Tool("python3").path, [script, "127.0.0.1", "\(securePort)", "waiting", later], input: input)
          var lines = client.output.pieces.makeAsyncIterator()
          _ = await lines.next()
          #expect(try await Self.waitingCount(vidicon, reaching: 50) == 50)
          try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
          _ = await lines.next()
          #expect(try #require(await Self.waitingCount(vidicon, reaching: 1)) <= 1)
          try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
          #expect(await client.end(within: MachineShare.timeout(.seconds(5))) == .status(0))
        }
      }
    }

    @Test func `the HTTP API conforms to its OpenAPI document`() async throws {
      struct Checked: Decodable { var asked: Int, wrong: [String], untried: [String] }
      try await TestMedia.withTemporaryFolder { folder in
        try await VidiconProcess.serving(Self.streams + ["--record", "\(folder)/{name}.mp4"]) { vidicon in
          let packages = TestMedia.checkout.appendingPathComponent(".build-media/python").path
          let run = try await Tool.run(
            "python3", [TestMedia.client("api_check.py"), vidicon.page(""), "live", "--packages", packages],
            within: .seconds(40))
          try #require(run.succeeded, "\(run.errors)")
          let checked = try JSONDecoder().decode(Checked.self, from: Data(run.output))
          #expect(checked.wrong == [])
          #expect(checked.untried == [], "paths of the document that the test does not ask for")
          #expect(checked.asked > 30)
        }
      }
    }

    private static func read(_ vidicon: VidiconProcess) async throws -> PrometheusText {
      let answer = try await Curl.get(vidicon.page("/metrics"))
      return try PrometheusText(parsing: answer.text)
    }

    private static func viewers(_ text: PrometheusText, _ stream: String) -> [String: Double] {
      var viewers: [String: Double] = [:]
      for (labels, value) in text.metrics["vidicon_viewers"]?.samples ?? [:] where labels["stream"] == stream {
        viewers[labels["protocol"] ?? ""] = value
      }
      return viewers
    }

    /// Sends a blocking request on each of twenty connections, and resets the connections.
    private static func askAndReset(_ vidicon: VidiconProcess, _ path: String) async throws {
      let port = vidicon.httpPort
      let connections = try await waiting {
        let connections = try (0..<20).map { _ in try RawConnection(port: port) }
        for connection in connections {
          connection.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
          connection.resetsAtEnd()
        }
        return connections
      }
      #expect(try await self.waitingCount(vidicon, reaching: 20) == 20)
      withExtendedLifetime(connections) {}
    }

    /// Number of waiting requests, once it is `count` or after eight readings.
    private static func waitingCount(_ vidicon: VidiconProcess, reaching count: Double) async throws -> Double? {
      var last: Double?
      for _ in 0..<8 where last != count { last = try await self.waitingCount(vidicon) }
      return last
    }

    private static func waitingCount(_ vidicon: VidiconProcess) async throws -> Double? {
      try await self.read(vidicon).metrics["vidicon_hls_waiting"]?.samples[["stream": "live"]]
    }

    private static func expectNoFall(from before: PrometheusText, to now: PrometheusText) {
      let counters = now.counters
      for (name, value) in before.counters {
        #expect(counters[name] ?? -1 >= value, "\(name) fell from \(value) to \(counters[name] ?? -1)")
      }
    }
  }
}
