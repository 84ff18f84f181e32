import Foundation
import Testing

extension EndToEnd {
  @Suite("RTMP publishers: ffmpeg, FFmpeg 8, GStreamer, OBS Studio")
  struct RTMPPublishers {
    private static let key = "0123456789abcdef0123"
    private static let source = [
      "--source", "rtmp:?key=\(key)", "--size", "640x360", "--fps", "30", "--rtmp-port", "0",
    ]

    /// Publishes moving video and a tone with ffmpeg until `body` has ended, then interrupts it.
    private static func publishing(
      to url: String, encoder: [String] = ["-tune", "zerolatency"], _ body: () async throws -> Void
    ) async throws {
      let publisher = try self.ffmpeg(to: url, seconds: 300, encoder: encoder)
      defer { publisher.kill() }
      try await body()
      publisher.signal(SIGINT)
      #expect(await publisher.end(within: MachineShare.timeout(.seconds(20))) != nil, "\(publisher.errors.text)")
    }

    private static func ffmpeg(
      to url: String, seconds: Int, encoder: [String] = ["-tune", "zerolatency"]
    ) throws -> ChildProcess {
      let input = ["-re", "-f", "lavfi", "-i", "testsrc2=s=640x360:r=30", "-f", "lavfi", "-i", "sine=1000:r=48000"]
      let output = [
        "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "30", "-c:a", "aac", "-ac", "2",
      ]
      return try ChildProcess(
        Tool("ffmpeg").path,
        ["-nostdin", "-v", "error"] + input + output + encoder + ["-t", "\(seconds)", "-f", "flv", url])
    }

    /// Checks that a player gets moving video and audio without an error.
    private static func expectPlays(
      _ url: String, seconds: Int, options: [String] = FFmpeg.overTCP, frames: Int? = nil
    ) async throws {
      let play = try await FFmpeg.play(url, seconds: seconds, options: options, within: .seconds(40))
      #expect(play.run.exit == .status(0), "\(play.run.errors)")
      #expect(FFmpeg.complaints(in: play.run.errors) == [])
      try #require(play.frames.count > frames ?? 25 * seconds, "\(play.frames.count) frames")
      #expect(play.frames.difference(play.frames.count - 1, play.frames.count - 40) > 0.3)
    }

    @Test(.tags(.pacing)) func `ffmpeg's video passes through, and the slate follows its end`() async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        _ = try await vidicon.status { $0.isSlateShown == true }
        try await Self.publishing(to: vidicon.rtmp("live/\(Self.key)")) {
          _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesPassedThrough ?? 0) > 30 }
          try await Self.expectPlays(vidicon.url(), seconds: 6)
          let status = try await vidicon.status { ($0.framesPassedThrough ?? 0) > 150 }
          #expect(status.isSlateShown == false)
        }
        _ = try await vidicon.status { $0.isSlateShown == true }
      }
    }

    @Test(.tags(.pacing)) func `a publisher's video is pushed on as it came, and nothing is encoded`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: FreePort.take())
        let server = try nginx.start()
        defer { server.kill() }
        try await VidiconProcess.serving(Self.source + ["--push", nginx.url("a")]) { vidicon in
          try await Self.publishing(to: vidicon.rtmp("live/\(Self.key)")) {
            let first = try await vidicon.status { stream in
              (stream.framesPassedThrough ?? 0) > 60 && stream.pushes?.first?.state == "sending"
            }
            // nginx begins with a keyframe, of which there is one a second.
            try await Self.expectPlays(nginx.url("a"), seconds: 5, options: [], frames: 25 * 4)
            let last = try await vidicon.status {
              ($0.framesPassedThrough ?? 0) > (first.framesPassedThrough ?? 0) + 100
            }
            #expect(last.framesEncoded == first.framesEncoded)
            let sent = (last.pushes?.first?.bytesSent ?? 0) - (first.pushes?.first?.bytesSent ?? 0)
            #expect(sent > 100_000 && last.pushes?.first?.framesDropped == 0, "\(sent) bytes")
          }
        }
      }
    }

    @Test(.tags(.pacing)) func `video with B-frames, and of another size, is decoded`() async throws {
      let options = ["--source", "rtmp:?key=\(Self.key)", "--size", "320x180", "--fps", "30", "--rtmp-port", "0"]
      try await VidiconProcess.serving(options) { vidicon in
        let encoder = ["-bf", "2", "-x264-params", "b-adapt=0"]
        try await Self.publishing(to: vidicon.rtmp("live/live/\(Self.key)"), encoder: encoder) {
          _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesIn ?? 0) > 30 }
          try await Self.expectPlays(vidicon.url(), seconds: 5)
          let status = try await vidicon.status { _ in true }
          #expect(status.framesPassedThrough ?? 0 == 0)
        }
      }
    }

    @Test(.tags(.pacing)) func `switched back to a publisher that went on, its video is there within a second`()
      async throws
    {
      try await VidiconProcess.serving(Self.source) { vidicon in
        // No keyframe for eight seconds.
        try await Self.publishing(to: vidicon.rtmp("live/\(Self.key)"), encoder: ["-tune", "zerolatency", "-g", "250"])
        {
          _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesPassedThrough ?? 0) > 30 }
          for _ in 0..<2 { try await vidicon.expectSwitchBack(to: "rtmp:") }
          try await Self.expectPlays(vidicon.url(), seconds: 4)
        }
        _ = try await vidicon.status { $0.isSlateShown == true }
      }
    }

    @Test(.tags(.pacing)) func `a publisher that has stood still for two seconds is displaced at once`() async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let url = try vidicon.rtmp("live/\(Self.key)")
        try await vidicon.expectDisplacement { try Self.ffmpeg(to: url, seconds: 300) }
      }
    }

    @Test func `a wrong key is refused, counted, and nowhere in what the program says`() async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let publisher = try Self.ffmpeg(to: vidicon.rtmp("live/wrong-0123456789abcdef"), seconds: 5)
        let exit = try #require(await publisher.end(within: .seconds(30)))
        #expect(exit != .status(0))
        let refusals = try await vidicon.statusEvent { ($0.refusals?["failed_login"] ?? 0) > 0 }
        #expect(refusals.refusals?["failed_login"] == 1)
        try await vidicon.child.complains("wrong password or token", within: .seconds(30))
        #expect(!vidicon.child.errors.text.contains("0123456789abcdef"))
        #expect(!vidicon.child.output.text.contains("0123456789abcdef"))
      }
    }

    @Test(.tags(.pacing)) func `GStreamer's rtmp2sink publishes, and a second publisher is refused meanwhile`()
      async throws
    {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let url = try vidicon.rtmp("live/\(Self.key)")
        let video = [
          "videotestsrc", "is-live=true", "pattern=ball", "!", "video/x-raw,width=640,height=360,framerate=30/1",
        ]
        let encode = ["!", "openh264enc", "gop-size=30", "!", "h264parse", "!", "mux."]
        let audio = [
          "audiotestsrc", "is-live=true", "!", "audioconvert", "!", "avenc_aac", "!", "aacparse", "!", "mux.",
        ]
        let mux = ["flvmux", "name=mux", "streamable=true", "!", "rtmp2sink", "location=\(url)"]
        let publisher = try ChildProcess(Tool("gst-launch-1.0").path, ["-q"] + video + encode + audio + mux)
        defer { publisher.kill() }
        _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesIn ?? 0) > 30 }
        let second = try Self.ffmpeg(to: url, seconds: 3)
        let exit = try #require(await second.end(within: .seconds(30)))
        #expect(exit != .status(0))
        let play = try await FFmpeg.play(vidicon.url(), seconds: 4, within: .seconds(40))
        #expect(play.run.exit == .status(0), "\(play.run.errors)")
        #expect(play.frames.count > 90)
        publisher.signal(SIGINT)
        _ = await publisher.end(within: .seconds(20))
        _ = try await vidicon.status { $0.isSlateShown == true }
      }
    }

    @Test(.tags(.pacing)) func `a push to another Vidicon arrives there as it was encoded, less than a frame later`()
      async throws
    {
      struct Delay: Decodable { var frames: Int, median: Double }
      try await VidiconProcess.serving(Self.source) { receiver in
        let push = try receiver.rtmp("live/\(Self.key)")
        let options = ["--source", "plasma", "--audio", "tone", "--size", "640x360", "--fps", "30", "--push", push]
        try await VidiconProcess.serving(options) { sender in
          _ = try await receiver.status { ($0.framesPassedThrough ?? 0) > 30 }
          let run = try await Tool.run(
            "python3", [TestMedia.client("relay_delay.py"), "\(sender.rtspPort)", "\(receiver.rtspPort)", "200"],
            within: .seconds(80))
          try #require(run.succeeded, "\(run.errors)")
          let delay = try JSONDecoder().decode(Delay.self, from: Data(run.output))
          report("median delay, s", delay.median, limit: 0.0333)
          #expect(delay.frames >= 200 && delay.median < 1.0 / 30, "\(delay)")
          #expect(delay.median > -0.01, "\(delay)")
        }
        _ = try await receiver.status { $0.isSlateShown == true }
      }
    }

    /// FFmpeg 8 as a publisher, whose codecs beyond H.264 and AAC have the headers of Enhanced RTMP.
    private static func enhanced(
      _ vidicon: VidiconProcess, _ codec: String, audio: String? = nil, seconds: Int
    ) throws -> ChildProcess {
      let arguments = [TestMedia.client("enhanced_publish.py"), try TestMedia.file("av")]
      return try ChildProcess(
        Tool("python3").path,
        arguments + [vidicon.rtmp("live/\(Self.key)"), codec, "\(seconds)"] + (audio.map { [$0] } ?? []))
    }

    private static let small = ["--source", "rtmp:?key=\(key)", "--size", "320x180", "--fps", "30", "--rtmp-port", "0"]

    @Test(arguments: [("libx265", "HEVC"), ("libsvtav1", "AV1")])
    func `another codec of FFmpeg 8, with the headers of Enhanced RTMP, is refused, and its H.264 is taken`(
      encoder: String, codec: String
    ) async throws {
      try await VidiconProcess.serving(Self.small) { vidicon in
        _ = try await vidicon.status { $0.isSlateShown == true }
        let refused = try Self.enhanced(vidicon, encoder, seconds: 60)
        defer { refused.kill() }
        try await vidicon.child.complains(
          "video codec \(codec) is not supported; send H.264 and AAC", within: .seconds(60))
        let exit = try #require(await refused.end(within: .seconds(60)))
        #expect(exit != .status(0))
        let accepted = try Self.enhanced(vidicon, "libx264", seconds: 300)
        defer { accepted.kill() }
        _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesPassedThrough ?? 0) > 30 }
      }
    }

    @Test func `Opus of FFmpeg 8 is refused with a sentence, and the H.264 beside it is taken`() async throws {
      try await VidiconProcess.serving(Self.small) { vidicon in
        _ = try await vidicon.status { $0.isSlateShown == true }
        let publisher = try Self.enhanced(vidicon, "libx264", audio: "libopus", seconds: 300)
        defer { publisher.kill() }
        try await vidicon.child.complains(
          "audio codec Opus is not supported; send H.264 and AAC", within: .seconds(60))
        _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesPassedThrough ?? 0) > 30 }
        let play = try await FFmpeg.play(vidicon.url(), seconds: 3, within: .seconds(40))
        #expect(play.run.exit == .status(0), "\(play.run.errors)")
        #expect(FFmpeg.complaints(in: play.run.errors) == [])
        #expect(play.frames.count > 60)
        #expect(try #require(play.audio).level < 0.0001, "silence in its place")
        #expect(publisher.isRunning, "\(publisher.errors.text)")
      }
    }

    @Test(.tags(.pacing)) func `the server and stream key that the terminal shows are those that a publisher enters`()
      async throws
    {
      struct Seen: Decodable {
        var exit: Int32
        var key: String
      }
      try await TestMedia.withTemporaryFolder { folder in
        let recording = "\(folder)/played.nut"
        let options = ["--no-qr", "--rtmp-port", "0", "--source", "rtmp:", "--size", "320x180", "--fps", "30"]
        let run = try await Tool.run(
          "env",
          ["XDG_RUNTIME_DIR=\(folder)", try Tool("python3").path, TestMedia.client("keys.py"), "publish:\(recording)"]
            + [try VidiconProcess.path(), "serve"] + VidiconProcess.freePorts + options,
          within: .seconds(90))
        try #require(run.succeeded, "\(run.errors)")
        let seen = try JSONDecoder().decode(Seen.self, from: Data(run.output))
        // 128 bits at least, at six or fewer a character.
        #expect(seen.exit == 0 && seen.key.utf8.count >= 22, "\(seen)")
        let decoded = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + ["-xerror", "-i", recording, "-an", "-vf", "scale=160:90,format=gray"]
            + FFmpeg.rawVideo + ["pipe:1"], within: .seconds(20))
        try #require(decoded.succeeded, "\(decoded.errors)")
        #expect(FFmpeg.complaints(in: decoded.errors) == [])
        let frames = LumaFrames(width: 160, height: 90, bytes: decoded.output)
        try #require(frames.count > 60, "\(frames.count) frames")
        #expect(frames.deviation(50) > 8 && frames.difference(frames.count - 1, frames.count - 31) > 0.3)
      }
    }

    @Test(.tags(.demanding), arguments: [false, true])
    func `OBS Studio publishes with the server and stream key that users enter, also with B-frames`(
      hasOwnSettings: Bool
    ) async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let input = ChildProcess.pipe()
        let settings = hasOwnSettings ? ["--own-encoder-settings"] : []
        let obs = try ChildProcess(
          Tool("python3").path,
          [TestMedia.client("obs_publish.py")] + settings + [TestMedia.video(), vidicon.rtmp("live"), Self.key],
          input: input)
        defer { obs.kill() }
        try await obs.says("publishing", within: .seconds(120))
        _ = try await vidicon.status { stream in
          let count = hasOwnSettings ? stream.framesIn : stream.framesPassedThrough
          return stream.isSlateShown == false && (count ?? 0) > 60
        }
        let play = try await FFmpeg.play(vidicon.url(), seconds: 4, within: .seconds(40))
        #expect(play.run.exit == .status(0), "\(play.run.errors)")
        #expect(FFmpeg.complaints(in: play.run.errors) == [])
        try #require(play.frames.count > 60)
        #expect(play.frames.deviation(50) > 8 && play.frames.difference(50, 20) > 0.3)
        let status = try await vidicon.status { _ in true }
        // B-frames are decoded, since not every output has them.
        if hasOwnSettings { #expect(status.framesPassedThrough ?? 0 == 0) }
        try input.fileHandleForWriting.close()
        #expect(await obs.end(within: .seconds(30)) == .status(0), "\(obs.errors.text)")
        _ = try await vidicon.status { $0.isSlateShown == true }
      }
    }

    @Test(.tags(.pacing)) func `ffmpeg publishes over RTMPS with the certificate of HTTPS, and plays it`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let ports = ["--https-port", "0", "--rtmps-port", "0"]
        try await VidiconProcess.serving(Self.source + ports, environment: ["XDG_STATE_HOME": folder]) { vidicon in
          let url = "rtmps://127.0.0.1:\(try #require(vidicon.started.rtmpsPort))/live"
          try await Self.publishing(to: "\(url)/\(Self.key)") {
            _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesIn ?? 0) > 30 }
            let play = try await FFmpeg.play("\(url)/live", seconds: 4, options: [], within: .seconds(40))
            #expect(play.run.exit == .status(0), "\(play.run.errors)")
            #expect(play.frames.count > 90)
          }
        }
      }
    }
  }
}

extension VidiconProcess {
  /// Switches the stream to the plasma, and back to the source of a publisher that goes on sending.
  func expectSwitchBack(to source: String) async throws {
    func put(_ video: String, _ audio: String) async throws -> Curl {
      try await Curl.get(
        self.page("/api/streams/live/source"),
        [
          "-X", "PUT", "-H", "Content-Type: application/json", "-d", #"{"video":"\#(video)","audio":"\#(audio)"}"#,
        ])
    }
    let away = try await put("plasma", "tone")
    #expect(away.status == 200, "\(away.text)")
    let encoded = try await self.status { _ in true }.framesEncoded ?? 0
    _ = try await self.status { ($0.framesEncoded ?? 0) > encoded + 30 }
    let start = ContinuousClock.now
    let back = try await put(source, "auto")
    let elapsed = ContinuousClock.now - start
    #expect(back.status == 200, "\(back.text)")
    #expect(elapsed < .seconds(1))
    let status = try await self.status { _ in true }
    #expect(status.isSlateShown == false)
  }
}

extension VidiconProcess {
  /// Checks that a publisher keeps the stream while it sends, and loses it to another one once it has stood still.
  func expectDisplacement(publisher: () throws -> ChildProcess) async throws {
    let first = try publisher()
    defer { first.kill() }
    _ = try await self.status { $0.isSlateShown == false && ($0.framesIn ?? 0) > 30 }
    let early = try publisher()
    defer { early.kill() }
    let refusal = try #require(await early.end(within: .seconds(20)))
    #expect(refusal != .status(0), "the first one sends")
    first.signal(SIGSTOP)
    let silent = ContinuousClock.now + .milliseconds(2300)
    _ = try await self.status { _ in ContinuousClock.now >= silent }
    let before = try await self.status { _ in true }.framesIn ?? 0
    let second = try publisher()
    defer { second.kill() }
    _ = try await self.status { ($0.framesIn ?? 0) > before + 60 && $0.isSlateShown == false }
    // Media that the first one sends from now on is refused.
    first.signal(SIGCONT)
    #expect(try #require(await first.end(within: .seconds(20))) != .status(0))
    let count = try await self.status { _ in true }.framesIn ?? 0
    _ = try await self.status { ($0.framesIn ?? 0) > count + 60 && $0.isSlateShown == false }
    #expect(second.isRunning)
  }
}
