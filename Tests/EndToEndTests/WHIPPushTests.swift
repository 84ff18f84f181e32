import Foundation
import Testing

extension EndToEnd {
  @Suite("Pushes to WHIP servers: another vidicon, aiortc, and Janus")
  struct WHIPPushes {
    static let token = "0123456789abcdef0123"
    private static let receiver = [
      "--source", "whip:?token=\(token)", "--size", "640x360", "--fps", "30", "--webrtc-port", "0", "--https-port", "0",
    ]
    private static let sender = [
      "--source", "plasma", "--audio", "tone", "--size", "640x360", "--fps", "30", "--bitrate", "800k",
    ]

    /// A file with the token that only its owner reads.
    private static func tokenFile(in folder: String) throws -> String {
      let path = "\(folder)/token"
      try #require(
        FileManager.default.createFile(
          atPath: path, contents: Data("\(Self.token)\n".utf8), attributes: [.posixPermissions: 0o600]))
      return path
    }

    private static func isSending(_ stream: VidiconEvent.Stream) -> Bool {
      stream.pushes?.first?.state == "sending" && (stream.pushes?.first?.bytesSent ?? 0) > 0
    }

    @Test(.tags(.pacing))
    func `another vidicon gets video and audio, which its viewers decode, and nothing shows the token`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let file = try Self.tokenFile(in: folder)
        try await VidiconProcess.serving(Self.receiver) { receiver in
          let url = "whip+http://127.0.0.1:\(receiver.httpPort)/live/whip"
          try await VidiconProcess.serving(Self.sender + ["--push", url, "--push-token-file", file]) { vidicon in
            _ = try await vidicon.status(within: .seconds(60), where: Self.isSending)
            let status = try await receiver.status(within: .seconds(60)) { stream in
              stream.isSlateShown == false && (stream.publisher?.framesReceived ?? 0) > 30
            }
            #expect(status.publisher?.video == "h264" && status.publisher?.audio == "opus")
            let play = try await FFmpeg.play(receiver.url(), seconds: 4, within: .seconds(40))
            #expect(play.run.exit == .status(0), "\(play.run.errors)")
            #expect(FFmpeg.complaints(in: play.run.errors) == [])
            try #require(play.frames.count > 60, "\(play.frames.count) frames")
            // Neither one color nor frozen.
            #expect(play.frames.deviation(play.frames.count - 1) > 4)
            #expect(play.frames.difference(play.frames.count - 1, play.frames.count - 31) > 0.3)
            #expect(try #require(play.audio).level > 0.001)
            let pushes = try #require(try await vidicon.status(where: Self.isSending).pushes)
            #expect(pushes.map(\.server) == ["whip+http://127.0.0.1:\(receiver.httpPort)"])
            #expect(pushes[0].bitrate > 100_000 && pushes[0].reconnects == 0)
            let metrics = try await Curl.get(vidicon.page("/metrics")).text
            #expect(metrics.contains(#"vidicon_push_sending{stream="live",push="1"} 1"#))
            for path in ["/metrics", "/api/streams/live", "/api/streams/live/pushes", "/live"] {
              let text = try await Curl.get(vidicon.page(path)).text
              #expect(!text.contains(Self.token) && !text.contains("live/whip"), "\(path)")
            }
            for text in [vidicon.child.output.text, vidicon.child.errors.text] {
              #expect(!text.contains(Self.token), "\(text)")
            }
          }
          // The session was ended at the server.
          _ = try await receiver.status { $0.isSlateShown == true && $0.publisher?.video == nil }
        }
      }
    }

    @Test func `over HTTPS the server's certificate is verified before the token is sent`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let made = try await Tool.run(
          "openssl",
          ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
            + [
              "-addext", "subjectAltName=DNS:localhost", "-keyout", "\(folder)/key.pem", "-out", "\(folder)/cert.pem",
            ], within: .seconds(20))
        try #require(made.succeeded, "\(made.errors)")
        let file = try Self.tokenFile(in: folder)
        let tls = ["--tls-cert", "\(folder)/cert.pem", "--tls-key", "\(folder)/key.pem"]
        try await VidiconProcess.serving(Self.receiver + tls) { receiver in
          let url = "whip+\(try receiver.securePage("/live/whip"))"
          let push = Self.sender + ["--push", url, "--push-token-file", file]
          try await VidiconProcess.serving(push) { vidicon in
            let status = try await vidicon.status { $0.pushes?.first?.lastFailure != nil }
            #expect(status.pushes?.first?.lastFailure?.contains("not from a trusted authority") == true)
          }
          #expect(try await receiver.status { _ in true }.publisher?.sessionsOpened == 0)
          try await VidiconProcess.serving(push + ["--push-ca", "\(folder)/cert.pem"]) { vidicon in
            _ = try await vidicon.status(within: .seconds(60), where: Self.isSending)
            _ = try await receiver.status(within: .seconds(60)) { stream in
              stream.isSlateShown == false && (stream.publisher?.framesReceived ?? 0) > 10
            }
          }
        }
      }
    }

    @Test func `a wrong token is reported once, and tried again`() async throws {
      try await VidiconProcess.serving(Self.receiver) { receiver in
        let url = "whip+http://127.0.0.1:\(receiver.httpPort)/live/whip"
        let variable = ["VIDICON_PUSH_TOKEN": "wrong-0123456789abcdef"]
        try await VidiconProcess.serving(Self.sender + ["--push", url], environment: variable) { vidicon in
          let status = try await vidicon.status { ($0.pushes?.first?.failedAttempts ?? 0) >= 2 }
          #expect(status.pushes?.first?.lastFailure?.contains("the token is refused") == true)
          #expect(!vidicon.child.output.text.contains("wrong-0123456789abcdef"))
        }
        let status = try await receiver.status { _ in true }
        #expect(status.publisher?.sessionsOpened == 0)
      }
    }

    @Test(.tags(.demanding)) func `a server that is killed and comes back is sent to again`() async throws {
      let port = try FreePort.take()
      try await TestMedia.withTemporaryFolder { folder in
        let file = try Self.tokenFile(in: folder)
        let options = ["--push", "whip+http://127.0.0.1:\(port)/live/whip", "--push-token-file", file]
        let receiver = Self.receiver + ["--http-port", "\(port)"]
        try await VidiconProcess.serving(Self.sender + options) { vidicon in
          try await VidiconProcess.serving(receiver) { first in
            _ = try await vidicon.status(within: .seconds(60), where: Self.isSending)
            _ = try await first.status(within: .seconds(60)) { ($0.publisher?.framesReceived ?? 0) > 10 }
            first.child.kill()
            _ = await first.child.end(within: .seconds(5))
          }
          try await VidiconProcess.serving(receiver) { second in
            let status = try await vidicon.status(within: .seconds(90)) { stream in
              Self.isSending(stream) && stream.pushes?.first?.reconnects == 1
            }
            #expect(status.pushes?.first?.lastFailure != nil)
            _ = try await second.status(within: .seconds(60)) { stream in
              stream.isSlateShown == false && (stream.publisher?.framesReceived ?? 0) > 30
            }
          }
        }
      }
    }

    /// Output of whip_server.py.
    private struct Seen: Decodable {
      var requests: [String]
      /// Seconds from the first request to each.
      var delays: [Double]
      var frames: Int
      var size: [Int]
      var deviation: Double
      var isMonotonic: Bool
      var audioFrames: Int
      var loudest: Double
      var answer: String
    }

    /// Pushes to aiortc until it has decoded enough.
    ///
    /// - Parameters:
    ///   - options: Those of the sender, besides its push.
    ///   - query: That of the push's URL: "?rendition=low".
    private static func pushToAiortc(_ options: [String], query: String = "") async throws -> Seen {
      let environment = ["PYTHONPATH": try TestMedia.file("aiortc")]
      let server = try ChildProcess(
        Tool("python3").path, [TestMedia.client("whip_server.py"), Self.token], environment: environment)
      defer { server.kill() }
      try await server.says("\n", within: .seconds(60))
      let port = try #require(server.output.text.split(separator: "\n").first)
      let variable = ["VIDICON_PUSH_TOKEN": Self.token]
      let push = ["--push", "whip+http://127.0.0.1:\(port)/whip\(query)"]
      try await VidiconProcess.serving(options + push, environment: variable) { vidicon in
        _ = try await vidicon.status(within: .seconds(60), where: Self.isSending)
        try await server.says("enough", within: .seconds(60))
      }
      let exit = await server.end(within: .seconds(30))
      await server.output.end()
      try #require(exit == .status(0), "\(server.errors.text)")
      let line = try #require(server.output.text.split(separator: "\n").last)
      return try JSONDecoder().decode(Seen.self, from: Data(line.utf8))
    }

    @Test(.tags(.pacing)) func `aiortc, which redirects and starts DTLS itself, decodes what it gets`() async throws {
      let seen = try await Self.pushToAiortc(Self.sender)
      #expect(
        seen.requests == ["POST /whip", "POST /whip", "POST /edge/whip?a=1", "DELETE /edge/session/1"])
      // The time that Retry-After names.
      #expect(seen.delays[1] >= 1.9)
      #expect(seen.answer.contains("a=setup:active"))
      #expect(seen.frames >= 90 && seen.size == [640, 360] && seen.deviation > 4 && seen.isMonotonic)
      #expect(seen.audioFrames > 50 && seen.loudest > 0.01)
    }

    @Test(.tags(.pacing)) func `a rendition is pushed at its own size, with the audio`() async throws {
      let low = ["--rendition", "name=low,size=320x180,bitrate=200k"]
      let seen = try await Self.pushToAiortc(Self.sender + low, query: "?rendition=low&key=a%2Fb")
      #expect(seen.frames >= 90 && seen.size == [320, 180] && seen.deviation > 4 && seen.isMonotonic)
      #expect(seen.audioFrames > 50 && seen.loudest > 0.01)
      // The server redirects from /whip only.
      #expect(seen.requests == ["POST /whip?key=a%2Fb", "POST /whip?key=a%2Fb", "DELETE /session/1"])
    }
  }
}
