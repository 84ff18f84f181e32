import Testing

extension EndToEnd {
  @Suite("Transports: TCP, UDP, and the fallback to TCP")
  struct Transports {
    private static let plasma = ["--source", "plasma", "--audio", "tone", "--size", "640x360"]

    @Test(.tags(.pacing)) func `ffmpeg and GStreamer play over UDP, two at once`() async throws {
      try await VidiconProcess.serving(Self.plasma + ["--rtsp-udp"]) { vidicon in
        async let frames = GStreamer.play(vidicon.url(), protocols: "udp")
        let play = try await FFmpeg.play(vidicon.url(), seconds: 10, options: ["-rtsp_transport", "udp"])
        try expectGood(play, frameRate: 30, seconds: 10)
        try expectMoving(await frames)
      }
    }

    @Test func `GStreamer plays over TCP`() async throws {
      try await VidiconProcess.serving(Self.plasma) { vidicon in
        try expectMoving(try await GStreamer.play(vidicon.url(), protocols: "tcp"))
      }
    }

    @Test(.tags(.pacing)) func `a player that requests UDP falls back to TCP at once`() async throws {
      try await VidiconProcess.serving(Self.plasma) { vidicon in
        let play = try await FFmpeg.play(vidicon.url(), seconds: 2, options: [])
        #expect(play.run.exit == .status(0), "\(play.run.errors)")
        #expect(play.frames.count > 50)
        #expect(play.run.duration < .seconds(6))
      }
    }

    /// Checks that the decoded frames have moving content.
    private func expectMoving(_ frames: LumaFrames) throws {
      try #require(frames.count >= GStreamer.frameCount)
      let last = GStreamer.frameCount - 1
      #expect(frames.mean(last) > 10)
      #expect(frames.deviation(last) > 4)
      #expect(frames.difference(last, last - 30) > 0.3)
    }
  }
}
