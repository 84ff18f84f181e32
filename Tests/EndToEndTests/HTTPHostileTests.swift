import Foundation
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Hostile and broken HTTP clients")
  struct HTTPHostile {
    private static let bars = ["--source", "bars", "--audio", "tone", "--size", "640x360", "--fps", "30"]

    /// Serves with TLS and runs `body` while two well-behaved viewers play both HLS playlists.
    private func whilePlaying(
      seconds: Int, _ body: @escaping @Sendable (VidiconProcess) async throws -> Void
    ) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let made = try await Tool.run(
          "openssl",
          ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
            + ["-subj", "/CN=localhost", "-keyout", "\(folder)/key.pem", "-out", "\(folder)/cert.pem"],
          within: .seconds(20))
        try #require(made.succeeded, "\(made.errors)")
        let tls = ["--https-port", "0", "--tls-cert", "\(folder)/cert.pem", "--tls-key", "\(folder)/key.pem"]
        try await VidiconProcess.serving(Self.bars + tls) { vidicon in
          async let segments = FFmpeg.play(vidicon.page("/live/playlist.m3u8"), seconds: seconds, options: [])
          async let fragments = FFmpeg.play(vidicon.page("/live/index.m3u8"), seconds: seconds, options: [])
          try await body(vidicon)
          for play in try await [segments, fragments] { try expectGood(play, frameRate: 30, seconds: Double(seconds)) }
        }
      }
    }

    /// Runs `http_attack.py`.
    private func attack<Outcome: Decodable>(
      _ name: String, _ vidicon: VidiconProcess, as type: Outcome.Type, within limit: Duration
    ) async throws -> Outcome {
      let tls = try #require(vidicon.started.httpsPort)
      let run = try await Tool.run(
        "python3",
        [TestMedia.client("http_attack.py"), name, "\(vidicon.httpPort)", "--tls", "\(tls)"]
          + ["--process", "\(vidicon.child.processIdentifier)"], within: limit)
      try #require(run.succeeded, "\(name): \(run.errors)")
      return try JSONDecoder().decode(type, from: Data(run.output))
    }

    @Test(.tags(.pacing)) func `an invalid request is answered with an error status, or the connection is closed`()
      async throws
    {
      var generator = SplitMix(seed: 1)
      let field = "X: " + String(repeating: "a", count: 4_000) + "\r\n"
      let openings: [(name: String, bytes: [UInt8])] = [
        ("zeros", [UInt8](repeating: 0, count: 100_000)),
        ("noise of seed 1", (0..<100_000).map { _ in UInt8.random(in: 0...255, using: &generator) }),
        ("TLS where there is none", [0x16, 0x03, 0x01, 0x00, 0xc8, 0x01, 0x00, 0x00, 0xc4, 0x03, 0x03]),
        ("HTTP/2 without TLS", Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)),
        ("another protocol", Array("DESCRIBE rtsp://a/live RTSP/1.0\r\nCSeq: 1\r\n\r\n".utf8)),
        ("a target without end", Array(("GET /" + String(repeating: "a", count: 200_000)).utf8)),
        ("a field without end", Array(("GET / HTTP/1.1\r\nHost: " + String(repeating: "a", count: 200_000)).utf8)),
        ("too many fields", Array(("GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: field, count: 100)).utf8)),
        ("two lengths", Array("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n".utf8)),
        (
          "a length and chunks",
          Array("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".utf8)
        ),
        ("a folded field", Array("GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n".utf8)),
        ("line feeds only", Array("GET / HTTP/1.1\nHost: a\n\n".utf8)),
        ("a path with dots", Array("GET /live/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n".utf8)),
        ("a slash in a name", Array("GET /live%2fplaylist.m3u8 HTTP/1.1\r\nHost: a\r\n\r\n".utf8)),
        ("a part far ahead", Array("GET /live/live.m3u8?_HLS_msn=9007199254740992 HTTP/1.1\r\nHost: a\r\n\r\n".utf8)),
        ("a body without end", Array("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999\r\n\r\n".utf8)),
      ]
      try await self.whilePlaying(seconds: 8) { vidicon in
        let ports = [vidicon.httpPort, try #require(vidicon.started.httpsPort)]
        for (name, bytes) in openings {
          for port in ports {
            let answered = try await waiting { () -> Bool in
              let connection = try RawConnection(port: port)
              guard connection.send(bytes) else { return true }
              switch connection.receive(within: .seconds(3)) {
              // A TLS alert is a valid answer.
              case .bytes(let reply):
                let isRefused = reply.starts(with: "HTTP/1.".utf8) && reply.dropFirst(9).first == UInt8(ascii: "4")
                return isRefused || reply.first == 0x15
              case .closed: return true
              case .nothing: return false
              }
            }
            // The timeout of an incomplete TLS handshake is longer than this test.
            #expect(answered || (port != vidicon.httpPort && name.hasPrefix("TLS")), "\(name)")
          }
        }
      }
    }

    @Test(.tags(.pacing)) func `floods over HTTP/2 close their connection within 3 s`() async throws {
      struct Outcome: Decodable {
        /// Seconds until the connection ended, by attack; nil when it did not.
        var ended: [String: Double?]
      }
      try await self.whilePlaying(seconds: 8) { vidicon in
        let outcome = try await self.attack("http2", vidicon, as: Outcome.self, within: .seconds(60))
        #expect(outcome.ended.count == 13)
        for (attack, seconds) in outcome.ended { #expect(try #require(seconds, "\(attack)") < 3, "\(attack)") }
      }
    }

    @Test(.tags(.pacing)) func `thousands of idle connections close the oldest idle ones, and no player's`()
      async throws
    {
      struct Outcome: Decodable {
        var opened: Int
        var player: [Int]
        var newcomer: Int
        var closed: Int
        var lastClosed: Int?
      }
      try await self.whilePlaying(seconds: 18) { vidicon in
        let outcome = try await self.attack("idle", vidicon, as: Outcome.self, within: .seconds(60))
        #expect(outcome.player == [200], "what a player got between the others")
        #expect(outcome.newcomer == 200)
        // The limit is 10,000 connections, including those of the viewers and the newcomer.
        try #require(outcome.opened > 10_000)
        #expect(outcome.closed >= outcome.opened - 10_000)
        #expect(outcome.closed <= outcome.opened - 10_000 + 40)
        #expect(try #require(outcome.lastClosed) < outcome.closed + 40, "the oldest go first")
        #expect(try await Curl.get(vidicon.page("/health")).status == 200)
      }
    }

    @Test(.tags(.pacing)) func `thousands of cancelled playlist requests release their resources`() async throws {
      struct Outcome: Decodable {
        var count: Int
        var secondsUntilForgotten: Double?
        var answers: [String]
      }
      try await self.whilePlaying(seconds: 12) { vidicon in
        let outcome = try await self.attack("waiting", vidicon, as: Outcome.self, within: .seconds(60))
        #expect(outcome.count == 3_200)
        report("seconds until forgotten", outcome.secondsUntilForgotten ?? 99, limit: 4)
        #expect(try #require(outcome.secondsUntilForgotten) < 4)
        #expect(outcome.answers == ["HTTP/1.1 200"], "five hundred that wait at once")
      }
    }

    @Test(.tags(.pacing)) func `a connection that reads nothing is closed`() async throws {
      struct Outcome: Decodable {
        var connections: Int
        var held: Int
        var secondsUntilClosed: Double?
      }
      try await self.whilePlaying(seconds: 20) { vidicon in
        let outcome = try await self.attack("slow", vidicon, as: Outcome.self, within: .seconds(90))
        #expect(outcome.held >= outcome.connections - 5)
        #expect(try #require(outcome.secondsUntilClosed) > 5, "before its time")
      }
    }

    @Test func `SIGINT ends the program in time with hundreds of pending requests`() async throws {
      // `serving` expects exit status 0 within 2 s of SIGINT.
      var connections: [RawConnection] = []
      try await VidiconProcess.serving(Self.bars) { vidicon in
        let first = try await Curl.get(vidicon.page("/live/live.m3u8"))
        #expect(first.status == 200)
        let targets = ["/live/live.m3u8?_HLS_msn=2", "/live/mjpeg?fps=30", "/live/snapshot.jpg", "/live/playlist.m3u8"]
        for target in targets {
          for _ in 0..<50 {
            let connection = try RawConnection(port: vidicon.httpPort, receiveBuffer: 4_096)
            connection.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
            connections.append(connection)
          }
        }
      }
      #expect(connections.count == 200)
    }
  }
}
