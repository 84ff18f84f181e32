import Foundation
import Testing

extension EndToEnd {
  @Suite("RTMP players: ffmpeg, mpv, VLC, OBS Studio, GStreamer, rtmpdump")
  struct RTMPPlayers {
    private static let plasma = [
      "--source", "plasma", "--audio", "tone", "--size", "640x360", "--fps", "30", "--rtmp-port", "0",
    ]

    @Test(.tags(.pacing)) func `ffmpeg plays both addresses for ten seconds without an error`() async throws {
      try await VidiconProcess.serving(Self.plasma) { vidicon in
        async let short = FFmpeg.play(vidicon.rtmp("live"), seconds: 10, options: [])
        let long = try await FFmpeg.play(vidicon.rtmp("live/live"), seconds: 10, options: [])
        try expectGood(long, frameRate: 30, seconds: 10)
        try expectGood(await short, frameRate: 30, seconds: 10)
        let metrics = try await Metrics(of: vidicon)
        #expect(metrics.sum("vidicon_encoders", "kind=\"video\"") == 1)
        #expect(try #require(metrics.sum("vidicon_sent_bytes_total", "protocol=\"rtmp\"")) > 0)
      }
    }

    @Test func `watching that is protected needs a token or a password in the address`() async throws {
      let token = "0123456789abcdef0123456789abcdef"
      try await TestMedia.withTemporaryFolder { folder in
        let hashing = try await Tool.run(
          "bash", ["-c", "echo secret | '\(VidiconProcess.path())' password"], within: .seconds(20))
        let hash = hashing.outputText.trimmingCharacters(in: .newlines)
        let file = "\(folder)/vidicon.yaml"
        let users =
          "  - {token: \(token), role: viewer}\n  - {name: anna, password: sesame}\n  - {name: ben, password: '\(hash)'}\n"
        try "users:\n\(users)".write(toFile: file, atomically: true, encoding: .utf8)
        try await VidiconProcess.serving(Self.plasma + ["--config", file]) { vidicon in
          let refused = try await Tool.run(
            "ffprobe", ["-v", "error", vidicon.rtmp("live/live")], within: .seconds(10))
          #expect(!refused.succeeded && refused.errors.contains("append ?token=TOKEN"), "\(refused.errors)")
          for secret in ["token=\(token)", "user=anna&pass=sesame", "user=ben&pass=secret"] {
            let probe = try await FFprobe.look(at: vidicon.rtmp("live/live?\(secret)"), options: [])
            #expect(probe.video?.width == 640, "\(secret)")
          }
          let wrong = try await Tool.run(
            "ffprobe", ["-v", "error", vidicon.rtmp("live/live?user=ben&pass=wrong")], within: .seconds(10))
          #expect(!wrong.succeeded && !vidicon.child.errors.text.contains("sesame"), "\(wrong.errors)")
        }
      }
    }

    @Test func `GStreamer's rtmp2src plays video and audio`() async throws {
      try await VidiconProcess.serving(Self.plasma) { vidicon in
        let source = [
          "-q", "rtmp2src", "location=\(try vidicon.rtmp())", "!", "flvdemux", "name=d", "d.video", "!", "queue",
        ]
        let video = ["!", "h264parse", "!", "avdec_h264", "!", "videoconvert", "!", "videoscale", "!"]
        let raw = ["video/x-raw,format=GRAY8,width=160,height=90", "!", "fdsink", "fd=1", "sync=false"]
        let audio = ["d.audio", "!", "queue", "!", "aacparse", "!", "avdec_aac", "!", "fakesink"]
        let run = try await Tool.run(
          "gst-launch-1.0", source + video + raw + audio, byteLimit: 120 * 160 * 90, within: .seconds(30))
        let frames = LumaFrames(width: 160, height: 90, bytes: run.output)
        try #require(frames.count >= 120, "GStreamer decoded \(frames.count) frames: \(run.errors)")
        #expect(frames.deviation(100) > 4)
        #expect(frames.difference(100, 70) > 0.3)
      }
    }

    @Test(.tags(.pacing)) func `rtmpdump stores a file that decodes without an error`() async throws {
      try await VidiconProcess.serving(Self.plasma) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          let file = "\(folder)/stored.flv"
          // rtmpdump is ended while it writes: the last tag is cut, and not decoded.
          let dump = try await Tool.run(
            "rtmpdump", ["-q", "-v", "-r", vidicon.rtmp(), "-o", "-"], byteLimit: 1_500_000, within: .seconds(20))
          try Data(dump.output).write(to: URL(filePath: file))
          let decoded = try await Tool.run(
            "ffmpeg", ["-v", "warning", "-xerror", "-i", file, "-t", "3"] + FFmpeg.decoding, within: .seconds(20))
          #expect(decoded.succeeded && decoded.errors == "", "\(decoded.errors)")
          #expect(try await FFmpeg.times(ofVideoIn: file).count > 90)
        }
      }
    }

    @Test(.tags(.demanding)) func `VLC shows every frame number, and plays audio`() async throws {
      let bars = ["--source", "bars", "--audio", "tone", "--size", "1280x720", "--fps", "30", "--rtmp-port", "0"]
      try await VidiconProcess.serving(bars) { vidicon in
        let show = try await VLC.play(vidicon.rtmp(), ["--run-time", "8"], each: 30, width: 1280, height: 720)
        let captures = show.captures.compactMap(\.self)
        #expect(captures.count >= 3, "\(show.run.errors.suffix(2_000))")
        #expect(captures == captures.sorted() && Set(captures).count == captures.count)
        #expect(show.hasAudio)
      }
    }

    @Test(.tags(.demanding)) func `mpv and OBS Studio show it`() async throws {
      try await VidiconProcess.serving(Self.plasma) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          let url = try vidicon.rtmp()
          let mpv = try await PlayedMedia.drive("mpv_play.py", [url, folder, "--seconds", "4"])
          report("first frame, s", mpv.firstFrameSeconds ?? 99, limit: 5)
          #expect(try #require(mpv.firstFrameSeconds) < 5)
          #expect(mpv.audioCodec?.lowercased().contains("aac") == true)
          try await mpv.expectLiveVideo(width: 640, height: 360)
          let obs = try await PlayedMedia.drive("obs_play.py", [url, folder, "--seconds", "4"])
          #expect(obs.state == "OBS_MEDIA_STATE_PLAYING")
          try await obs.expectLiveVideo(width: 640, height: 360)
        }
      }
    }

    @Test(.tags(.pacing)) func `RTMPS is played by ffmpeg`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let certificate = try await Tool.run(
          "openssl",
          ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
            + ["-keyout", "\(folder)/key.pem", "-out", "\(folder)/cert.pem"],
          within: .seconds(20))
        try #require(certificate.succeeded, "\(certificate.errors)")
        let options = ["--rtmps-port", "0", "--tls-cert", "\(folder)/cert.pem", "--tls-key", "\(folder)/key.pem"]
        try await VidiconProcess.serving(Self.plasma + options) { vidicon in
          let port = try #require(vidicon.started.rtmpsPort)
          let play = try await FFmpeg.play("rtmps://127.0.0.1:\(port)/live/live", seconds: 8, options: [])
          try expectGood(play, frameRate: 30, seconds: 8)
        }
      }
    }
  }
}
