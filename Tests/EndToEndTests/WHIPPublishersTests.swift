import Foundation
import Testing

extension EndToEnd {
  @Suite("WHIP publishers: Chromium and Firefox on a bare page, aiortc, FFmpeg 8, GStreamer")
  struct WHIPPublishers {
    static let token = "0123456789abcdef0123"
    static let source = [
      "--source", "whip:?token=\(token)", "--size", "640x360", "--fps", "30", "--webrtc-port", "0", "--https-port", "0",
      "--cors", "*",
    ]

    /// Output of whip_aiortc.py and whip_publish.py.
    struct Seen: Decodable {
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
      /// Heights that were sent after each change of the size.
      var heights: [Int]?
    }

    /// Publishes with a client until `body` has ended, and decodes what the client has seen.
    static func publishing(
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
        let exit = await client.end(within: MachineShare.timeout(.seconds(30)))
        await client.output.end()
        try #require(exit == .status(0), "\(client.errors.text)")
        return try JSONDecoder().decode(Seen.self, from: Data(client.output.bytes))
      }
    }

    static func aiortc(
      _ vidicon: VidiconProcess, until: String, codec: String = "h264", size: String = "640x360", token: String = token,
      takesOver: Bool = false, retries: Bool = false, after file: String? = nil, to stream: String = "live"
    ) throws -> [String] {
      [
        "PYTHONPATH=\(try TestMedia.file("aiortc"))", "python3", TestMedia.client("whip_aiortc.py"),
        vidicon.page("/\(stream)/whip"), "--bearer", token, "--until", until, "--codec", codec,
        "--size", size,
      ] + (takesOver ? ["--takeover"] : []) + (retries ? ["--retry"] : []) + (file.map { ["--after", $0] } ?? [])
    }

    static func browser(
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

    @Test(.tags(.timing))
    func `frames of a browser are decoded by an RTSP viewer within a quarter second, also while their size changes`()
      async throws
    {
      try await VidiconProcess.serving(Self.source) { vidicon in
        var watched: StripWatch?
        let seen = try await Self.publishing({
          Self.browser(vidicon, until: $0, "--strip", "--shrink", "--pause", "4")
        }) {
          _ = try await Self.live(vidicon)
          watched = try await StripWatch.watch(vidicon.url(), seconds: 10)
        }
        #expect(seen.status == 201 && seen.errors == [] && seen.deleted == 200)
        // The size has changed, and back.
        let heights = try #require(seen.heights)
        try #require(heights.count == 2 && heights[0] < heights[1], "\(heights)")
        let watch = try #require(watched)
        #expect(watch.run.succeeded && FFmpeg.complaints(in: watch.run.errors) == [], "\(watch.run.errors)")
        let (median, late, stall) = (try watch.latency(0.5), try watch.latency(0.95), watch.maximumStall)
        report("median latency from a browser's camera to RTSP, s", median, limit: 0.25)
        report("95th percentile from a browser's camera to RTSP, s", late, limit: 0.25)
        report("maximum time without a new frame at changes of the size, s", stall, limit: 0.3)
        #expect(late <= 0.25 && stall > 0 && stall <= 0.3)
      }
    }

    @Test(.tags(.demanding)) func `what a browser publishes is in HLS, in a recording, and in another browser`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        try await VidiconProcess.serving(Self.source + ["--record", "\(folder)/{name}.mp4"]) { vidicon in
          let seen = try await Self.publishing({ Self.browser(vidicon, until: $0, "--strip") }) {
            _ = try await Self.live(vidicon)
            let hls = try await FFmpeg.play(
              vidicon.page("/live/playlist.m3u8"), seconds: 4, options: [], within: .seconds(60))
            #expect(hls.run.exit == .status(0) && FFmpeg.complaints(in: hls.run.errors) == [], "\(hls.run.errors)")
            try #require(hls.frames.count > 40, "\(hls.frames.count) frames")
            let last = hls.frames.count - 1
            #expect(hls.frames.difference(last, last - 10) > 0.3 && hls.frames.deviation(last) > 4)
            #expect(try #require(hls.audio).level > 0.001)
            let other = try await WebRTCPlayers.play(vidicon.page("/live/whep"), "--frames", "60")
            #expect(other.status == 201 && other.width == 640 && other.deleted == 200)
            // The strips of the camera are readable, and not old.
            #expect(try #require(other.latencies) > 30)
            #expect(try #require(other.medianLatency) < 1)
          }
          #expect(seen.status == 201 && seen.errors == [] && seen.deleted == 200)
        }
        let file = try await RecordedFile("\(folder)/live.mp4")
        // Frames of the slate have no strip.
        let captured = file.captures.compactMap(\.self)
        #expect(file.complaints == "" && captured.count > 60, "\(file.complaints)")
        #expect(zip(captured, captured.dropFirst()).allSatisfy { $0 <= $1 })
      }
    }

    @Test(.tags(.demanding)) func `both channels of a browser's audio are at an RTSP viewer, and on the page`()
      async throws
    {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let seen = try await Self.publishing({ Self.browser(vidicon, until: $0, "--strip") }) {
          _ = try await Self.live(vidicon)
          for (channel, tone) in [("FL", 440.0), ("FR", 880.0)] {
            let run = try await Tool.run(
              "ffmpeg",
              FFmpeg.quiet + FFmpeg.overTCP + ["-i", vidicon.url(), "-t", "3", "-vn", "-af", "pan=mono|c0=\(channel)"]
                + ["-ar", "48000", "-f", "s16le", "pipe:1"], within: .seconds(40))
            try #require(run.succeeded, "\(run.errors)")
            let heard = DecodedAudio(sampleRate: 48_000, littleEndian: run.output).tone
            #expect(abs(heard - tone) < tone / 50, "\(channel): \(heard) Hz")
          }
          let shown: WebRTCPlayers.Shown = try await Browsers.drive(
            "page_webrtc.py", [vidicon.page("/live"), "--tones"], within: .seconds(100))
          #expect(shown.way == "WebRTC, real time" && shown.complaints == [])
          let tones = try #require(shown.tones)
          #expect(tones.count == 2 && abs(tones[0] - 440) < 10 && abs(tones[1] - 880) < 10, "\(tones)")
        }
        #expect(seen.status == 201 && seen.errors == [] && seen.deleted == 200)
      }
    }

    @Test(.tags(.timing))
    func `the flash and the beep of a browser are at most 40 ms apart for an RTSP viewer`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        try await VidiconProcess.serving(Self.source) { vidicon in
          let copy = "\(folder)/copy.nut"
          let seen = try await Self.publishing({ Self.browser(vidicon, until: $0, "--flash") }) {
            _ = try await Self.live(vidicon)
            let run = try await Tool.run(
              "ffmpeg",
              FFmpeg.quiet + FFmpeg.overTCP + ["-i", vidicon.url(), "-t", "22"]
                + FFmpeg.copy(to: copy, from: vidicon.url()), within: .seconds(300))
            try #require(run.succeeded, "\(run.errors)")
          }
          #expect(seen.status == 201 && seen.errors == [] && seen.deleted == 200)
          let beeps = try await Synchrony.beeps(in: copy)
          let flashes = try await Synchrony.flashes(in: copy).dropFirst().dropLast()
          try #require(flashes.count >= 15 && beeps.count >= 15, "\(flashes.count), \(beeps.count)")
          let distances = flashes.compactMap { flash in beeps.map { abs($0 - flash) }.min() }.sorted()
          // The page itself is not exact: its audio is made in pieces, and its frames when the browser paints.
          let nineOfTen = distances[distances.count * 9 / 10]
          report("distance of a browser's flash and beep at RTSP, 90th percentile, s", nineOfTen, limit: 0.04)
          #expect(nineOfTen <= 0.04, "\(distances)")
        }
      }
    }

    @Test(.tags(.timing))
    func `a publisher that is killed and back costs viewers the slate for that time, and no more`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        try await VidiconProcess.serving(Self.source) { vidicon in
          let first = try ChildProcess(Tool("env").path, Self.aiortc(vidicon, until: "\(folder)/never"))
          defer { first.kill() }
          // The next one is started before, so that what its interpreter and its libraries take is not measured.
          let killed = "\(folder)/killed"
          let next = try await Self.publishing({
            try Self.aiortc(vidicon, until: $0, retries: true, after: killed)
          }) {
            _ = try await Self.live(vidicon)
            async let played = FFmpeg.play(vidicon.url(), seconds: 16, within: .seconds(60))
            let watched = try await vidicon.status { $0.viewers == 1 }
            let count = (watched.publisher?.framesReceived ?? 0) + 30
            _ = try await vidicon.status { ($0.publisher?.framesReceived ?? 0) > count }
            first.kill()
            try Data().write(to: URL(filePath: killed))
            _ = try await vidicon.status(within: .seconds(60)) { stream in
              stream.isSlateShown == false && stream.publisher?.live == true && stream.publisher?.sessionsOpened == 2
            }
            // The publisher sends until the player has ended.
            let play = try await played
            #expect(play.run.exit == .status(0) && FFmpeg.complaints(in: play.run.errors) == [], "\(play.run.errors)")
            let seconds = try Self.interruption(of: play)
            report("seconds from the last frame of a killed publisher to the first of the next", seconds, limit: 5)
            #expect(seconds <= 5)
            let last = play.frames.count - 1
            try #require(last > 200)
            #expect(play.frames.difference(last, last - 10) > 0.3, "the video does not move again")
          }
          #expect(next.status == 201 && next.deleted == 200)
        }
      }
    }

    /// Checks that a play has a publisher's frames, the slate at most, and a publisher's frames again, and no others: a publisher that comes
    /// at once replaces a silent one before the slate is due. The mean luma of the slate is about 30, that of frames of whip_aiortc.py about
    /// 120.
    ///
    /// - Returns: The seconds from the last frame of the first publisher to the first frame of the next.
    private static func interruption(of play: FFmpeg.Play) throws -> Double {
      try #require(play.times.count >= play.frames.count)
      let means = (0..<play.frames.count).map { play.frames.mean($0) }
      let others = means.filter { (80...100).contains($0) }
      #expect(others == [])
      let isSlate = means.map { $0 < 90 }
      let changes = zip(isSlate, isSlate.dropFirst()).filter { $0 != $1 }
      #expect(
        isSlate.first == false && isSlate.last == false && changes.count <= 2,
        "the slate is shown \(changes.count / 2) times")
      // Frames that are repeated do not move.
      let moving = isSlate.indices.dropFirst().filter { !isSlate[$0] && play.frames.difference($0, $0 - 1) > 0.5 }
      let times = moving.map { play.times[$0] }
      return try #require(zip(times.dropFirst(), times).map { $0 - $1 }.max(), "the publisher's video does not move")
    }

    @Test(.tags(.pacing)) func `GStreamer's webrtcbin publishes H.264 and Opus`() async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let seen = try await Self.publishing({
          // Debian packages the bindings for its own interpreter.
          [
            "/usr/bin/python3", TestMedia.client("whip_gstreamer.py"), vidicon.page("/live/whip"), "--bearer",
            Self.token, "--until", $0,
          ]
        }) {
          let live = try await Self.live(vidicon)
          #expect(live.video == "h264" && live.audio == "opus")
          try await Self.expectPlays(vidicon)
        }
        #expect(seen.status == 201 && seen.errors == [] && seen.deleted == 200)
        _ = try await vidicon.status { $0.isSlateShown == true && $0.publisher?.video == nil }
      }
    }

    /// Figures of publish_loss.py. Shares are those of the frames that the browser has encoded meanwhile: 29 of 30 for 29 frames a second.
    private struct Loss: Decodable {
      /// Frames per second that the program has received, and has encoded for viewers.
      var frameRate: Double
      var encodedRate: Double
      var receivedShare: Double
      var encodedShare: Double
      /// Packets from the browser that the link has lost.
      var packetsLost: Int
    }

    @Test(.tags(.timing)) func `two percent of loss at 50 ms cost a publisher at most one frame of thirty`()
      async throws
    {
      let seen: Loss = try await Browsers.drive(
        "publish_loss.py", [VidiconProcess.path(), "--seconds", "30"], within: .seconds(120))
      report("share of a publisher's frames that arrive at 2% of loss", seen.receivedShare, limit: -29.0 / 30)
      report("share of a publisher's frames that viewers get at 2% of loss", seen.encodedShare, limit: -29.0 / 30)
      report("frames per second of a publisher at 2% of loss", seen.frameRate, limit: -29)
      report("frames per second for viewers of a publisher at 2% of loss", seen.encodedRate, limit: -29)
      #expect(seen.receivedShare >= 29.0 / 30 && seen.encodedShare >= 29.0 / 30)
      #expect(seen.frameRate >= 29 && seen.encodedRate >= 29)
      #expect(seen.packetsLost > 10, "the link has lost nothing")
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
