import Foundation
import Testing

extension EndToEnd {
  @Suite("Screens of X11, played by ffmpeg")
  struct Screens {
    @Test(.tags(.pacing)) func `a video that another program plays on the screen`() async throws {
      try await XDisplay.showing("640x360") { display in
        try await display.playing("testsrc2=s=640x360:r=60") {
          try await VidiconProcess.serving(["--source", "screen:\(display.name)", "--audio", "tone"]) { vidicon in
            let play = try await FFmpeg.play(vidicon.url(), seconds: 10)
            try expectGood(play, frameRate: 30, seconds: 10)
            let probe = try await FFprobe.look(at: vidicon.url())
            #expect(probe.video?.width == 640)
            #expect(probe.video?.height == 360)
          }
        }
      }
    }

    @Test func `a still screen is unchanged in the stream`() async throws {
      try await XDisplay.showing("640x360") { display in
        try await display.playing("smptebars=s=640x360:r=5") {
          let source = "screen:\(display.name)?cursor=0"
          try await VidiconProcess.serving(["--source", source, "--audio", "tone"]) { vidicon in
            let expected = try await Tool.run(
              "ffmpeg",
              FFmpeg.quiet + ["-f", "lavfi", "-i", "smptebars=s=640x360", "-frames:v", "1"]
                + ["-vf", "scale=160:90,format=gray", "-f", "rawvideo", "pipe:1"], within: .seconds(20))
            // ffplay may still be opening its window at the first play.
            var difference = Double.infinity
            for _ in 0..<5 where difference > 4 {
              let play = try await FFmpeg.play(vidicon.url(), seconds: 4, audio: false)
              #expect(play.run.succeeded, "\(play.run.errors)")
              #expect(FFmpeg.complaints(in: play.run.errors) == [])
              let last = play.frames.count - 1
              let both = LumaFrames(width: 160, height: 90, bytes: Array(play.frames[last]) + expected.output)
              difference = both.difference(0, 1)
            }
            #expect(difference <= 4, "the mean distance of pixels")
            let status = try await vidicon.status { _ in true }
            #expect(try #require(status.framesEncoded) > 10)
          }
        }
      }
    }

    @Test func `an unchanged screen does not show the slate`() async throws {
      try await XDisplay.showing("320x240") { display in
        try await VidiconProcess.serving(["--source", "screen:\(display.name)?cursor=0", "--audio", "none"]) {
          vidicon in
          let start = ContinuousClock.now
          let play = try await FFmpeg.play(vidicon.url(), seconds: 6, audio: false, within: .seconds(30))
          #expect(play.run.succeeded, "\(play.run.errors)")
          #expect(play.times.count >= 6)
          #expect(play.run.duration < .seconds(16), "\(ContinuousClock.now - start)")
          // Uniformly black: no slate text.
          #expect((0..<play.frames.count).allSatisfy { play.frames.deviation($0) < 2 })
          #expect(!vidicon.child.errors.text.contains("screen"))
        }
      }
    }

    @Test func `a terminated X server leaves the slate, and SIGINT works`() async throws {
      try await XDisplay.showing("320x240") { display in
        try await VidiconProcess.serving(["--source", "screen:\(display.name)", "--audio", "none"]) { vidicon in
          _ = try await vidicon.status { ($0.framesEncoded ?? 0) > 2 }
          display.server.kill()
          let before = try await vidicon.status { _ in true }
          // The slate is encoded at the frame rate.
          _ = try await vidicon.status { ($0.framesEncoded ?? 0) > (before.framesEncoded ?? 0) + 60 }
          // Reported once, however often the screen is tried again.
          let errors = vidicon.child.errors.text
          #expect(errors.ranges(of: "connection to the X server was lost").count == 1, "\(errors)")
          #expect(errors.split(separator: "\n").count == 1, "\(errors)")
        }
      }
    }

    @Test func `a screen that cannot be captured is reported in one line`() async throws {
      for (source, environment, saying) in [
        ("screen:", ["DISPLAY": "", "WAYLAND_DISPLAY": ""], "DISPLAY is not set"),
        ("screen:", ["DISPLAY": "", "WAYLAND_DISPLAY": "wayland-0"], "only X11 screens"),
        ("screen::58000", [:], "no X server at :58000"),
      ] {
        let (exit, errors) = try await VidiconProcess.run(
          ["serve"] + VidiconProcess.freePorts + ["--source", source], environment: environment)
        #expect(exit == .status(1))
        #expect(errors.contains(saying), "\(errors)")
        #expect(errors.split(separator: "\n").count == 1, "\(errors)")
      }
      let (exit, errors) = try await VidiconProcess.run(["serve", "--source", "screen::0?colour=1"])
      #expect(exit == .status(64))
      #expect(errors.contains("region="), "\(errors)")
    }

    @Test func `the X server's cookie is required, and read from XAUTHORITY`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let file = "\(folder)/authority"
        // Xauth(5): family 0xFFFF for any machine, then address, number, name and data, each after its length.
        let entry: [UInt8] =
          [0xFF, 0xFF, 0, 0, 0, 0, 0, 18] + Array("MIT-MAGIC-COOKIE-1".utf8) + [0, 16] + Array(1...16)
        try Data(entry).write(to: URL(fileURLWithPath: file))
        try await XDisplay.showing("320x240", arguments: ["-auth", file]) { display in
          let options = ["--source", "screen:\(display.name)", "--audio", "none"]
          let (exit, errors) = try await VidiconProcess.run(
            ["serve"] + VidiconProcess.freePorts + options, environment: ["XAUTHORITY": "\(folder)/none"])
          #expect(exit == .status(1))
          #expect(errors.contains("rejects the connection") && errors.contains("XAUTHORITY is \(folder)/none"))
          #expect(errors.split(separator: "\n").count == 1, "\(errors)")
          try await VidiconProcess.serving(options, environment: ["XAUTHORITY": file]) { vidicon in
            _ = try await vidicon.status { ($0.framesEncoded ?? 0) > 0 }
          }
        }
      }
    }
  }
}
