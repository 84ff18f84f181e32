import Foundation
import Testing

extension EndToEnd {
  @Suite("RTSP publishers: ffmpeg, GStreamer")
  struct RTSPPublishers {
    private static let key = "0123456789abcdef0123"
    private static let source = ["--source", "rtsp:?key=\(key)", "--size", "640x360", "--fps", "30"]
    static let tests = [
      "-f", "lavfi", "-i", "testsrc2=s=640x360:r=30", "-f", "lavfi", "-i", "sine=1000:r=48000",
    ]

    private static func url(_ vidicon: VidiconProcess, key: String = key) -> String { vidicon.url() + "?key=\(key)" }

    /// Publishes with ffmpeg until `body` has ended, then interrupts it.
    static func publishing(
      to url: String, over transport: String = "tcp", input: [String] = tests,
      encoder: [String] = ["-tune", "zerolatency"],
      _ body: () async throws -> Void
    ) async throws {
      let publisher = try self.ffmpeg(to: url, over: transport, input: input, encoder: encoder)
      defer { publisher.kill() }
      try await body()
      publisher.signal(SIGINT)
      #expect(await publisher.end(within: MachineShare.timeout(.seconds(20))) != nil, "\(publisher.errors.text)")
    }

    /// Starts ffmpeg, which publishes video and audio.
    private static func ffmpeg(
      to url: String, over transport: String = "tcp", seconds: Int = 300, input: [String] = tests,
      encoder: [String] = ["-tune", "zerolatency"]
    ) throws -> ChildProcess {
      let output = [
        "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "30", "-c:a", "aac", "-ac", "2",
      ]
      let target = ["-t", "\(seconds)", "-f", "rtsp", "-rtsp_transport", transport, url]
      return try ChildProcess(
        Tool("ffmpeg").path, ["-nostdin", "-v", "error", "-re"] + input + output + encoder + target)
    }

    /// Checks that a player gets moving video without an error.
    private static func expectPlays(_ url: String, seconds: Int) async throws {
      let play = try await FFmpeg.play(url, seconds: seconds, within: .seconds(40))
      #expect(play.run.exit == .status(0), "\(play.run.errors)")
      #expect(FFmpeg.complaints(in: play.run.errors) == [])
      try #require(play.frames.count > 25 * seconds, "\(play.frames.count) frames")
      #expect(play.frames.difference(play.frames.count - 1, play.frames.count - 40) > 0.3)
    }

    @Test(.tags(.pacing), arguments: ["tcp", "udp"])
    func `ffmpeg's video passes through, and the slate follows its end`(transport: String) async throws {
      try await VidiconProcess.serving(Self.source + (transport == "udp" ? ["--rtsp-udp"] : [])) { vidicon in
        _ = try await vidicon.status { $0.isSlateShown == true }
        try await Self.publishing(to: Self.url(vidicon), over: transport) {
          _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesPassedThrough ?? 0) > 30 }
          try await Self.expectPlays(vidicon.url(), seconds: 6)
          let status = try await vidicon.status { ($0.framesPassedThrough ?? 0) > 150 }
          #expect(status.isSlateShown == false)
        }
        _ = try await vidicon.status { $0.isSlateShown == true }
      }
    }

    @Test(.tags(.pacing)) func `switched back to a publisher that went on, its video is there within a second`()
      async throws
    {
      try await VidiconProcess.serving(Self.source) { vidicon in
        // No keyframe for eight seconds.
        try await Self.publishing(to: Self.url(vidicon), encoder: ["-tune", "zerolatency", "-g", "250"]) {
          _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesPassedThrough ?? 0) > 30 }
          try await vidicon.expectSwitchBack(to: "rtsp:")
          try await Self.expectPlays(vidicon.url(), seconds: 4)
        }
        _ = try await vidicon.status { $0.isSlateShown == true }
      }
    }

    @Test(.tags(.pacing)) func `a publisher that has stood still for two seconds is displaced at once`() async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        try await vidicon.expectDisplacement { try Self.ffmpeg(to: Self.url(vidicon)) }
      }
    }

    @Test(.tags(.pacing)) func `a publisher that is killed comes back, while a viewer stays`() async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let first = try Self.ffmpeg(to: Self.url(vidicon))
        defer { first.kill() }
        _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesIn ?? 0) > 30 }
        async let play = FFmpeg.play(vidicon.url(), seconds: 12, within: .seconds(60))
        _ = try await vidicon.status { ($0.viewers ?? 0) > 0 }
        first.kill()
        _ = try await vidicon.status { $0.isSlateShown == true }
        // With B-frames, and parameter sets of its own.
        let second = try Self.ffmpeg(to: Self.url(vidicon), encoder: ["-bf", "2", "-x264-params", "b-adapt=0"])
        defer { second.kill() }
        _ = try await vidicon.status { $0.isSlateShown == false }
        let result = try await play
        #expect(result.run.exit == .status(0), "\(result.run.errors)")
        #expect(result.frames.count > 250, "\(result.frames.count) frames")
        second.signal(SIGINT)
        _ = await second.end(within: .seconds(20))
      }
    }

    @Test func `a wrong key is refused, counted, and nowhere in what the program says`() async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let publisher = try Self.ffmpeg(to: Self.url(vidicon, key: "wrong-0123456789abcdef"), seconds: 5)
        defer { publisher.kill() }
        let exit = try #require(await publisher.end(within: .seconds(30)))
        #expect(exit != .status(0))
        let refusals = try await vidicon.statusEvent { ($0.refusals?["failed_login"] ?? 0) > 0 }
        #expect(refusals.refusals?["failed_login"] == 1)
        try await vidicon.child.complains("wrong password or token", within: .seconds(30))
        #expect(!vidicon.child.errors.text.contains("0123456789abcdef"))
        #expect(!vidicon.child.output.text.contains("0123456789abcdef"))
      }
    }

    @Test(.tags(.pacing), arguments: ["tcp", "udp"])
    func `GStreamer's rtspclientsink publishes, and a second publisher is refused meanwhile`(
      transport: String
    ) async throws {
      try await VidiconProcess.serving(Self.source + (transport == "udp" ? ["--rtsp-udp"] : [])) { vidicon in
        let sink = ["rtspclientsink", "name=sink", "protocols=\(transport)", "location=\(Self.url(vidicon))"]
        let video = [
          "videotestsrc", "is-live=true", "pattern=ball", "!", "video/x-raw,width=640,height=360,framerate=30/1",
        ]
        let encode = ["!", "openh264enc", "gop-size=30", "!", "h264parse", "!", "sink."]
        let audio = [
          "audiotestsrc", "is-live=true", "!", "audioconvert", "!", "avenc_aac", "!", "aacparse", "!", "sink.",
        ]
        let publisher = try ChildProcess(Tool("gst-launch-1.0").path, ["-q"] + sink + video + encode + audio)
        defer { publisher.kill() }
        _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesIn ?? 0) > 30 }
        let second = try Self.ffmpeg(to: Self.url(vidicon), seconds: 3)
        defer { second.kill() }
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

    @Test(.tags(.pacing)) func `the flash and the beep of a publisher stay together`() async throws {
      // A white frame and a beep at each second, for a tenth of it.
      let flashes = "color=black:s=640x360:r=30,drawbox=c=white:t=fill:enable='lt(mod(t,1),0.1)'"
      let beeps = "aevalsrc=exprs='if(lt(mod(t,1),0.1),sin(2*PI*1000*t),0)':s=48000"
      try await VidiconProcess.serving(Self.source) { vidicon in
        try await Self.publishing(
          to: Self.url(vidicon), input: ["-f", "lavfi", "-i", flashes, "-f", "lavfi", "-i", beeps]
        ) {
          _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesIn ?? 0) > 60 }
          try await TestMedia.withTemporaryFolder { folder in
            let copy = "\(folder)/copy.nut"
            let recording = try await Tool.run(
              "ffmpeg",
              FFmpeg.quiet + FFmpeg.overTCP + ["-i", vidicon.url(), "-t", "8"]
                + FFmpeg.copy(to: copy, from: vidicon.url()),
              within: .seconds(40))
            try #require(recording.succeeded, "\(recording.errors)")
            let flashes = try await Synchrony.flashes(in: copy)
            let beeps = try await Synchrony.beeps(in: copy)
            try #require(flashes.count >= 6 && beeps.count >= 6, "\(flashes) \(beeps)")
            for flash in flashes.dropFirst().dropLast() {
              let nearest = try #require(beeps.min { abs($0 - flash) < abs($1 - flash) })
              #expect(abs(nearest - flash) < 0.080, "flash at \(flash) s, beep at \(nearest) s")
            }
          }
        }
      }
    }
  }
}
