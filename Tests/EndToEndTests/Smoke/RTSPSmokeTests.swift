import Foundation
import Testing

extension Smoke {
  @Suite("Smoke: RTSP")
  struct RTSP {
    @Test func `GStreamer plays over TCP`() async throws {
      try await VidiconProcess.serving(Smoke.plasma) { vidicon in
        try expectMoving(try await GStreamer.play(vidicon.url(), frames: Smoke.frameCount, protocols: "tcp"))
      }
    }

    @Test func `ffmpeg and GStreamer play over UDP, two at once`() async throws {
      try await VidiconProcess.serving(Smoke.plasma + ["--rtsp-udp"]) { vidicon in
        async let frames = GStreamer.play(vidicon.url(), frames: Smoke.frameCount, protocols: "udp")
        try expectContent(
          try await FFmpeg.play(vidicon.url(), frames: Smoke.frameCount, options: ["-rtsp_transport", "udp"]))
        try expectMoving(try await frames)
      }
    }

    @Test func `every form of a stream's URL plays it`() async throws {
      try await VidiconProcess.serving(Smoke.plasma) { vidicon in
        let urls = [
          vidicon.url(nil), vidicon.url(""), vidicon.url("live/"), vidicon.url(host: "localhost"),
          vidicon.url(host: "[::1]"),
        ]
        for url in urls {
          let probe = try await FFprobe.look(at: url)
          #expect(probe.video?.width == 320, "\(url)")
          #expect(probe.audio?.codecName == "aac", "\(url)")
        }
        let printed = try #require(vidicon.started.streams?.first?.urls)
        #expect(printed.contains { $0.hasPrefix("rtsp://") && $0.hasSuffix(":\(vidicon.rtspPort)/live") }, "\(printed)")
      }
    }

    @Test func `RTSPS is played by ffmpeg and GStreamer`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let options = ["--rtsps-port", "0"] + (try await Smoke.certificate(in: folder))
        try await VidiconProcess.serving(Smoke.plasma + options) { vidicon in
          let port = try #require(vidicon.started.rtspsPort)
          let url = "rtsps://127.0.0.1:\(port)/live"
          async let frames = GStreamer.play(
            url, frames: Smoke.frameCount, protocols: "tcp+tls", options: ["tls-validation-flags=0"])
          try expectContent(try await FFmpeg.play(url, frames: Smoke.frameCount))
          try expectMoving(try await frames)
        }
      }
    }

    @Test func `players play with the right password only`() async throws {
      try await VidiconProcess.serving(Smoke.plasma + ["--user", "anna:sesame"]) { vidicon in
        let port = vidicon.rtspPort
        try expectContent(
          try await FFmpeg.play("rtsp://anna:sesame@127.0.0.1:\(port)/live", frames: Smoke.frameCount))
        for login in ["", "anna:wrong@", "eve:sesame@"] {
          let wrong = try await FFmpeg.play(
            "rtsp://\(login)127.0.0.1:\(port)/live", frames: Smoke.frameCount)
          #expect(wrong.run.exit != .status(0) && wrong.run.exit != nil, "\(login)")
          #expect(wrong.run.errors.contains("401"), "\(wrong.run.errors)")
        }
        let login = ["user-id=anna", "user-pw=sesame"]
        try expectMoving(
          try await GStreamer.play(vidicon.url(), frames: Smoke.frameCount, protocols: "tcp", options: login))
      }
    }

    @Test func `ffmpeg publishes, and the slate follows its end`() async throws {
      let key = "0123456789abcdef0123"
      let input = ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=15", "-f", "lavfi", "-i", "sine=1000:r=48000"]
      // A requested bitrate would be met by an encoder.
      let format = ["--size", "320x180", "--fps", "15"]
      try await VidiconProcess.serving(["--source", "rtsp:?key=\(key)"] + format) { vidicon in
        _ = try await vidicon.status { $0.isSlateShown == true }
        try await EndToEnd.RTSPPublishers.publishing(to: vidicon.url() + "?key=\(key)", input: input) {
          _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesPassedThrough ?? 0) > 30 }
          try expectContent(try await FFmpeg.play(vidicon.url(), frames: Smoke.frameCount))
        }
        _ = try await vidicon.status { $0.isSlateShown == true }
      }
    }
  }
}
