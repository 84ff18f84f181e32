import Foundation
import Testing

extension EndToEnd {
  @Suite("Clients of HTTP that mean harm, or know no better", .serialized)
  struct HTTPHostile {
    private static let streams = ["--source", "plasma", "--audio", "tone", "--size", "320x180"]

    /// Serves, plays for a while as an honest viewer, and lets something happen meanwhile.
    private func whilePlaying(
      _ options: [String] = streams, environment: [String: String] = [:], seconds: Int,
      _ body: @escaping @Sendable (VidiconProcess) async throws -> Void
    ) async throws {
      try await VidiconProcess.serving(options, environment: environment) { vidicon in
        async let play = FFmpeg.play(vidicon.page("/live/index.m3u8"), seconds: seconds, options: [])
        _ = try await HLSFiles(of: vidicon, stream: "/live")
        try await body(vidicon)
        let played = try await play
        #expect(played.run.succeeded && FFmpeg.complaints(in: played.run.errors) == [], "\(played.run.errors)")
        #expect(played.pictures.count > 25 * seconds, "\(played.pictures.count) pictures in \(seconds) s")
      }
    }

    @Test func `garbage and oversize requests get a clear status and are let go`() async throws {
      let field = "X: " + String(repeating: "a", count: 4_000) + "\r\n"
      let requests: [(name: String, bytes: [UInt8], statuses: [Int])] = [
        ("zeros", [UInt8](repeating: 0, count: 100_000), [400]),
        ("TLS", [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03, 0x0d, 0x0a, 0x0d, 0x0a], [400]),
        ("RTSP", Array("DESCRIBE rtsp://a/live RTSP/1.0\r\nCSeq: 1\r\n\r\n".utf8), [400, 405]),
        ("a path without end", Array(("GET /" + String(repeating: "a", count: 200_000)).utf8), [400, 414, 431]),
        (
          "a long path", Array(("GET /" + String(repeating: "a", count: 5_000) + " HTTP/1.1\r\nHost: a\r\n\r\n").utf8),
          [414]
        ),
        ("giant fields", Array(("GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: field, count: 100)).utf8), [431]),
        ("a field without end", Array(("GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 200_000)).utf8), [431]),
        (
          "a thousand fields",
          Array(("GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "A: b\r\n", count: 1_000) + "\r\n").utf8), [431]
        ),
        ("no host", Array("GET / HTTP/1.1\r\n\r\n".utf8), [400]),
        (
          "two lengths", Array("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n".utf8),
          [400]
        ),
        (
          "length and chunks",
          Array("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n".utf8), [400]
        ),
        ("a huge body", Array("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n".utf8), [405, 413]),
        ("another method", Array("DELETE /live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8), [405]),
      ]
      try await self.whilePlaying(seconds: 8) { vidicon in
        let port = vidicon.httpPort
        for (name, bytes, statuses) in requests {
          let answer = try await waiting { () -> String in
            let connection = try RawConnection(port: port)
            connection.send(bytes)
            var answer: [UInt8] = []
            let end = ContinuousClock.now + .seconds(5)
            while ContinuousClock.now < end {
              guard case .bytes(let more) = connection.receive(within: end - .now) else { break }
              answer += more
            }
            return String(decoding: answer, as: UTF8.self)
          }
          #expect(statuses.contains { answer.dropFirst(9).hasPrefix("\($0) ") }, "\(name): \(answer.prefix(200))")
          #expect(answer.lowercased().contains("\r\nconnection: close\r\n"), "\(name)")
        }
        let pieces = try await waiting { () -> String in
          let connection = try RawConnection(port: port)
          for byte in "GET /health HTTP/1.1\r\nHost: a\r\n\r\n".utf8 { connection.send([byte]) }
          guard case .bytes(let answer) = connection.receive(within: .seconds(5)) else { return "" }
          return String(decoding: answer, as: UTF8.self)
        }
        #expect(pieces.hasPrefix("HTTP/1.1 200 "), "\(pieces)")
      }
    }

    @Test func `eleven thousand connections that say nothing are bounded, and those that came first give way`()
      async throws
    {
      try await self.whilePlaying(seconds: 12) { vidicon in
        // Two programs, since one may not have as many files open as the server.
        let inputs = [Pipe(), Pipe()]
        var clients: [ChildProcess] = []
        var lines: [AsyncStream<[UInt8]>.Iterator] = []
        for input in inputs {
          let client = try ChildProcess(
            Tool("python3").path, [TestMedia.client("idle_crowd.py"), "\(vidicon.httpPort)", "5500"], input: input)
          var output = client.output.pieces.makeAsyncIterator()
          #expect(await output.next() == Array("open\n".utf8), "\(client.errors.text)")
          clients.append(client)
          lines.append(output)
        }
        #expect(try await Curl.get(vidicon.page("/health")).text == "ok\n")
        let open = try await #require(Metrics(of: vidicon).sum("vidicon_http_connections"))
        #expect(open <= 10_000 && open > 3_000, "\(open)")
        var closed: [Int] = []
        for index in inputs.indices {
          try inputs[index].fileHandleForWriting.write(contentsOf: Data("?\n".utf8))
          let line = String(decoding: await lines[index].next() ?? [], as: UTF8.self)
          closed.append(try #require(Int(line.dropLast()), "\(line)"))
          try inputs[index].fileHandleForWriting.close()
          #expect(await clients[index].end(within: .seconds(10)) == .status(0))
        }
        #expect(closed[0] >= 11_000 - Int(open), "\(closed)")
        #expect(closed[1] == 0 || closed[0] > 5_400, "\(closed)")
      }
    }

    @Test func `who takes requests back without end is let go, and others are served`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let options = Self.streams + ["--https-port", "0"]
        try await VidiconProcess.serving(options, environment: ["XDG_STATE_HOME": folder]) { vidicon in
          let port = try #require(vidicon.started.httpsPort)
          async let play = FFmpeg.play(vidicon.page("/live/index.m3u8"), seconds: 5, options: [])
          for _ in 0..<3 {
            let run = try await Tool.run(
              "python3", [TestMedia.client("h2_resets.py"), "127.0.0.1", "\(port)", "rapid", "/live/live.m3u8"],
              within: .seconds(20))
            struct Outcome: Decodable { var sent: Int, goAwayCodes: [Int] }
            let outcome = try JSONDecoder().decode(Outcome.self, from: Data(run.output))
            #expect(outcome.sent < 99_999, "\(outcome)")
            // ENHANCE_YOUR_CALM, RFC 9113 §7.
            #expect(outcome.goAwayCodes.allSatisfy { $0 == 11 }, "\(outcome)")
          }
          #expect(try await Curl.get(vidicon.securePage("/health"), ["--http2"]).text == "ok\n")
          let played = try await play
          #expect(played.run.succeeded && FFmpeg.complaints(in: played.run.errors) == [], "\(played.run.errors)")
        }
      }
    }
  }
}
