import Foundation
import Testing

extension EndToEnd {
  @Suite("WHIP publishers: Chromium and Firefox on a bare page, aiortc, FFmpeg 8")
  struct WHIPPublishers {
    static let token = "0123456789abcdef0123"
    static let source = [
      "--source", "whip:?token=\(token)", "--size", "640x360", "--fps", "30", "--webrtc-port", "0", "--https-port", "0",
      "--cors", "*",
    ]

    /// Output of whip_aiortc.py and whip_publish.py.
    private struct Seen: Decodable {
      var status: Int
      var retryAfter: String?
      var connection: String?
      var deleted: Int?
      var errors: [String]?
      /// Of the browser.
      var codec: String?
      var audioCodec: String?
      var encoded: Int?
      var height: Int?
    }

    /// Publishes with a client until `body` has ended, and decodes what the client has seen.
    private static func publishing(
      _ arguments: (_ until: String) throws -> [String], _ body: () async throws -> Void
    ) async throws -> Seen {
      try await TestMedia.withTemporaryFolder { folder in
        let until = "\(folder)/until"
        let client = try ChildProcess(Tool("env").path, arguments(until))
        defer { client.kill() }
        do {
          try await body()
        } catch {
          client.kill()
          throw VidiconProcess.Failure(
            description: "\(error); the client's errors: \(client.errors.text.suffix(1_000))")
        }
        try Data().write(to: URL(filePath: until))
        let exit = await client.end(within: .seconds(30) * MachineShare.timeoutFactor)
        await client.output.end()
        try #require(exit == .status(0), "\(client.errors.text)")
        return try JSONDecoder().decode(Seen.self, from: Data(client.output.bytes))
      }
    }

    private static func aiortc(
      _ vidicon: VidiconProcess, until: String, codec: String = "h264", token: String = token, takesOver: Bool = false,
      to stream: String = "live"
    ) throws -> [String] {
      [
        "PYTHONPATH=\(try TestMedia.file("aiortc"))", "python3", TestMedia.client("whip_aiortc.py"),
        vidicon.page("/\(stream)/whip"), "--bearer", token, "--until", until, "--codec", codec,
      ] + (takesOver ? ["--takeover"] : [])
    }

    private static func browser(
      _ vidicon: VidiconProcess, until: String, _ options: String...
    ) -> [String] {
      [
        "python3", TestMedia.client("whip_publish.py"), vidicon.page("/live/whip"), "--bearer", Self.token, "--until",
        until,
      ] + options
    }

    /// Waits until a publisher's frames are on air.
    static func live(_ vidicon: VidiconProcess) async throws -> VidiconEvent.Publisher {
      let status = try await vidicon.status(within: .seconds(60)) { stream in
        stream.isSlateShown == false && stream.publisher?.live == true && (stream.publisher?.framesReceived ?? 0) > 30
      }
      return try #require(status.publisher)
    }

    /// Checks that a player gets moving video and audio without an error.
    ///
    /// - Parameter movement: Minimum of the maximum mean difference of luma between two frames, ten apart.
    static func expectPlays(
      _ vidicon: VidiconProcess, seconds: Int = 4, movement: Double = 0.3
    ) async throws {
      let play = try await FFmpeg.play(vidicon.url(), seconds: seconds, within: .seconds(40))
      #expect(play.run.exit == .status(0), "\(play.run.errors)")
      #expect(FFmpeg.complaints(in: play.run.errors) == [])
      try #require(play.frames.count > 15 * seconds, "\(play.frames.count) frames")
      let changes = (10..<play.frames.count).map { play.frames.difference($0, $0 - 10) }
      #expect(changes.max() ?? 0 > movement, "the video does not move")
      #expect(try #require(play.audio).level > 0.001)
    }

    @Test(.tags(.pacing), arguments: ["h264", "vp8"])
    func `aiortc publishes H.264 and VP8, and ends its session`(codec: String) async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let seen = try await Self.publishing({ try Self.aiortc(vidicon, until: $0, codec: codec) }) {
          #expect(try await Self.live(vidicon).video == codec)
          try await Self.expectPlays(vidicon)
        }
        #expect(seen.status == 201 && seen.connection == "connected" && seen.deleted == 200)
        _ = try await vidicon.status { $0.isSlateShown == true && $0.publisher?.video == nil }
      }
    }

    @Test(.tags(.pacing)) func `FFmpeg 8 publishes as the server of DTLS, and ends its session`() async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let seen = try await Self.publishing(
          {
            [
              "PYTHONPATH=\(try TestMedia.file("aiortc"))", "python3", TestMedia.client("whip_ffmpeg.py"),
              vidicon.page("/live/whip"), "--bearer", Self.token, "--until", $0,
            ]
          },
          {
            let publisher = try await Self.live(vidicon)
            #expect(publisher.video == "h264" && publisher.audio == "opus")
            try await Self.expectPlays(vidicon)
          })
        #expect(seen.encoded ?? 0 > 30)
        _ = try await vidicon.status { $0.isSlateShown == true && $0.publisher?.video == nil }
      }
    }

    @Test func `a second publisher is refused while the first one sends, unless it takes over`() async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let first = try await Self.publishing({ try Self.aiortc(vidicon, until: $0) }) {
          _ = try await Self.live(vidicon)
          let refused = try await Self.publishing({ try Self.aiortc(vidicon, until: $0) }) {
            _ = try await vidicon.status { $0.publisher?.attemptsRefused == 1 }
          }
          #expect(refused.status == 409 && refused.retryAfter == "3")
          let next = try await Self.publishing({ try Self.aiortc(vidicon, until: $0, takesOver: true) }) {
            _ = try await vidicon.status {
              $0.publisher?.sessionsTakenOver == 1 && $0.publisher?.live == true && $0.isSlateShown == false
            }
          }
          #expect(next.status == 201 && next.deleted == 200)
        }
        // The displaced one has no session any more.
        #expect(first.status == 201 && first.deleted == 404)
      }
    }

    @Test(.tags(.demanding)) func `four publishers send four streams at once, and a token opens its own stream alone`()
      async throws
    {
      let names = ["one", "two", "three", "four"]
      func token(_ name: String) -> String { "token-of-stream-\(name)" }
      let streams = names.flatMap { ["--stream", "name=\($0),source=whip:?token=\(token($0)),size=320x180,fps=15"] }
      try await VidiconProcess.serving(streams + ["--webrtc-port", "0", "--https-port", "0"]) { vidicon in
        /// Publishes streams, one within the other.
        func publish(_ rest: ArraySlice<String>, _ body: () async throws -> Void) async throws {
          guard let name = rest.first else { return try await body() }
          let seen = try await Self.publishing(
            { try Self.aiortc(vidicon, until: $0, codec: "vp8", token: token(name), to: name) },
            { try await publish(rest.dropFirst(), body) })
          #expect(seen.status == 201 && seen.connection == "connected" && seen.deleted == 200, "\(name)")
        }
        try await publish(names[...]) {
          _ = try await vidicon.statusEvent(within: .seconds(60)) { event in
            event.streams?.allSatisfy {
              $0.isSlateShown == false && $0.publisher?.live == true && ($0.publisher?.framesReceived ?? 0) > 60
            } == true
          }
          let refused = try await Self.publishing({
            try Self.aiortc(vidicon, until: $0, token: token("two"), to: "one")
          }) {}
          #expect(refused.status == 403)
        }
      }
    }

    @Test func `without the token nothing is published, and guesses are counted`() async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let seen = try await Self.publishing({ try Self.aiortc(vidicon, until: $0, token: "wrong-0123456789abcdef") }) {
          _ = try await vidicon.statusEvent { $0.refusals?["failed_login"] == 1 }
        }
        #expect(seen.status == 401)
        for (options, status) in [
          (["--data", "v=0", "-H", "Content-Type: application/sdp"], 401), (["-X", "DELETE"], 405), ([], 405),
          (["-X", "OPTIONS"], 204),
        ] {
          #expect(try await Curl.get(vidicon.page("/live/whip"), options).status == status, "\(options)")
        }
        let authorized = ["-H", "Authorization: Bearer \(Self.token)"]
        for (options, status) in [
          (["--data", "v=0", "-H", "Content-Type: text/plain"], 415),
          (["--data", "v=0", "-H", "Content-Type: application/sdp"], 400),
          (["--data", String(repeating: "a=x:y", count: 20_000), "-H", "Content-Type: application/sdp"], 413),
        ] {
          #expect(try await Curl.get(vidicon.page("/live/whip"), options + authorized).status == status, "\(status)")
        }
        let status = try await vidicon.status { $0.isSlateShown == true }
        #expect(status.publisher?.sessionsOpened == 0)
      }
    }

    @Test(.tags(.pacing)) func `Chromium's camera is the stream, also while its size changes`() async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let seen = try await Self.publishing({ Self.browser(vidicon, until: $0, "--shrink") }) {
          #expect(try await Self.live(vidicon).audio == "opus")
          // The size changes meanwhile, and is that of the camera again.
          try await Self.expectPlays(vidicon, seconds: 6)
        }
        #expect(seen.status == 201 && seen.errors == [] && seen.connection == "connected" && seen.deleted == 200)
        #expect(seen.codec == "video/H264" && seen.audioCodec == "audio/opus")
        #expect(try #require(seen.encoded) > 60)
        _ = try await vidicon.status { $0.isSlateShown == true }
      }
    }

    @Test func `Firefox, which has no H.264 as packaged, publishes VP8`() async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let seen = try await Self.publishing({ Self.browser(vidicon, until: $0, "--browser", "firefox") }) {
          let live = try await Self.live(vidicon)
          #expect(live.video == "vp8" && live.audio == "opus")
          // Its test video changes its color; of the luma only a thin strip at the top.
          try await Self.expectPlays(vidicon, movement: 0.05)
        }
        #expect(seen.status == 201 && seen.errors == [] && seen.deleted == 200)
      }
    }

    @Test func `the start names the addresses of publishers, the encrypted one first, without the token`() async throws
    {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let stream = try #require(vidicon.started.streams?.first)
        let port = try #require(vidicon.started.httpsPort)
        #expect(try #require(stream.publish?.first).hasSuffix(":\(port)/live/whip"))
        #expect(stream.publish?.allSatisfy { !$0.contains("token") } == true)
      }
    }
  }
}
