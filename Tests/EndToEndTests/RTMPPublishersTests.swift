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
      #expect(await publisher.end(within: .seconds(20)) != nil, "\(publisher.errors.text)")
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
    private static func expectPlays(_ url: String, seconds: Int) async throws {
      let play = try await FFmpeg.play(url, seconds: seconds, within: .seconds(40))
      #expect(play.run.exit == .status(0), "\(play.run.errors)")
      #expect(FFmpeg.complaints(in: play.run.errors) == [])
      try #require(play.frames.count > 25 * seconds, "\(play.frames.count) frames")
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

    @Test(.tags(.pacing)) func `video with B-frames, and of another size, is decoded`() async throws {
      let options = ["--source", "rtmp:?key=\(Self.key)", "--size", "320x180", "--fps", "30", "--rtmp-port", "0"]
      try await VidiconProcess.serving(options) { vidicon in
        let encoder = ["-bf", "2", "-x264-params", "b-adapt=0"]
        try await Self.publishing(to: vidicon.rtmp("live/live/\(Self.key)"), encoder: encoder) {
          _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesIn ?? 0) > 30 }
          try await Self.expectPlays(vidicon.url(), seconds: 5)
          #expect(try await vidicon.status { _ in true }.framesPassedThrough ?? 0 == 0)
        }
      }
    }

    @Test func `a wrong key is refused, counted, and nowhere in what the program says`() async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let publisher = try Self.ffmpeg(to: vidicon.rtmp("live/wrong-0123456789abcdef"), seconds: 5)
        let exit = try #require(await publisher.end(within: .seconds(30)))
        #expect(exit != .status(0))
        let refusals = try await vidicon.statusEvent { ($0.refusals?["failed_login"] ?? 0) > 0 }
        #expect(refusals.refusals?["failed_login"] == 1)
        #expect(vidicon.child.errors.text.contains("wrong password or token"))
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
          #expect(delay.frames >= 200 && delay.median < 1.0 / 30, "\(delay)")
          #expect(delay.median > -0.01, "\(delay)")
        }
        _ = try await receiver.status { $0.isSlateShown == true }
      }
    }

    @Test func `HEVC of FFmpeg 8, with the headers of Enhanced RTMP, is refused, and its H.264 is taken`() async throws
    {
      let options = ["--source", "rtmp:?key=\(Self.key)", "--size", "320x180", "--fps", "30", "--rtmp-port", "0"]
      try await VidiconProcess.serving(options) { vidicon in
        func publish(_ codec: String, seconds: Int) throws -> ChildProcess {
          try ChildProcess(
            Tool("python3").path,
            [
              TestMedia.client("enhanced_publish.py"), TestMedia.file("av"), vidicon.rtmp("live/\(Self.key)"), codec,
              "\(seconds)",
            ])
        }
        _ = try await vidicon.status { $0.isSlateShown == true }
        let refused = try publish("libx265", seconds: 60)
        defer { refused.kill() }
        try await vidicon.child.complains("video codec HEVC is not supported; send H.264 and AAC", within: .seconds(60))
        let exit = try #require(await refused.end(within: .seconds(60)))
        #expect(exit != .status(0))
        let accepted = try publish("libx264", seconds: 300)
        defer { accepted.kill() }
        _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesPassedThrough ?? 0) > 30 }
      }
    }

    @Test(.tags(.demanding)) func `OBS Studio publishes with the server and stream key that users enter`() async throws
    {
      try await VidiconProcess.serving(Self.source) { vidicon in
        let input = Pipe()
        let obs = try ChildProcess(
          Tool("python3").path,
          [TestMedia.client("obs_publish.py"), TestMedia.video(), vidicon.rtmp("live"), Self.key], input: input)
        defer { obs.kill() }
        try await obs.says("publishing", within: .seconds(120))
        _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesPassedThrough ?? 0) > 60 }
        let play = try await FFmpeg.play(vidicon.url(), seconds: 4, within: .seconds(40))
        #expect(play.run.exit == .status(0), "\(play.run.errors)")
        #expect(FFmpeg.complaints(in: play.run.errors) == [])
        try #require(play.frames.count > 60)
        #expect(play.frames.deviation(50) > 8 && play.frames.difference(50, 20) > 0.3)
        try input.fileHandleForWriting.close()
        #expect(await obs.end(within: .seconds(30)) == .status(0), "\(obs.errors.text)")
        _ = try await vidicon.status { $0.isSlateShown == true }
      }
    }

    @Test(.tags(.pacing)) func `ffmpeg publishes over RTMPS with the self-signed certificate of HTTPS, and plays it`()
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
