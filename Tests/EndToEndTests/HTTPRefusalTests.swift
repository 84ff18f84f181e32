import Foundation
import Testing

extension EndToEnd {
  @Suite("Refused HTTP requests")
  struct HTTPRefusals {
    private static let streams = ["--source", "plasma", "--audio", "tone", "--size", "320x180"]

    /// Serves and runs `body` while a well-behaved viewer plays.
    private func whilePlaying(
      _ options: [String] = streams, seconds: Int,
      _ body: @escaping @Sendable (VidiconProcess) async throws -> Void
    ) async throws {
      try await VidiconProcess.serving(options) { vidicon in
        async let play = FFmpeg.play(vidicon.page("/live/index.m3u8"), seconds: seconds, options: [])
        _ = try await HLSFiles(of: vidicon, stream: "/live")
        try await body(vidicon)
        let played = try await play
        #expect(played.run.succeeded && FFmpeg.complaints(in: played.run.errors) == [], "\(played.run.errors)")
        #expect(played.frames.count > 25 * seconds, "\(played.frames.count) frames in \(seconds) s")
      }
    }

    @Test(.tags(.pacing)) func `garbage and oversize requests get a specific status, and their connection is closed`()
      async throws
    {
      let field = "X: " + String(repeating: "a", count: 4_000) + "\r\n"
      let requests: [(name: String, bytes: [UInt8], statuses: [Int])] = [
        ("zeros", [UInt8](repeating: 0, count: 100_000), [400]),
        ("TLS", [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03, 0x0d, 0x0a, 0x0d, 0x0a], [400]),
        ("RTSP", Array("DESCRIBE rtsp://a/live RTSP/1.0\r\nCSeq: 1\r\n\r\n".utf8), [400, 405, 421]),
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
  }
}
