import Testing

extension EndToEnd {
  @Suite("Transports: TCP, UDP, and the way back from UDP", .serialized)
  struct Transports {
    private static let plasma = ["--source", "plasma", "--audio", "tone", "--size", "640x360"]

    @Test func `ffmpeg and GStreamer play over UDP, two at once`() async throws {
      try await VidiconProcess.serving(Self.plasma + ["--rtsp-udp"]) { vidicon in
        async let pictures = GStreamer.play(vidicon.url(), protocols: "udp")
        let play = try await FFmpeg.play(vidicon.url(), seconds: 10, options: ["-rtsp_transport", "udp"])
        try expectGood(play, frameRate: 30, seconds: 10)
        try expectMoving(await pictures)
      }
    }

    @Test func `GStreamer plays over TCP`() async throws {
      try await VidiconProcess.serving(Self.plasma) { vidicon in
        try expectMoving(try await GStreamer.play(vidicon.url(), protocols: "tcp"))
      }
    }

    @Test func `a player that asks for UDP is sent to TCP at once`() async throws {
      try await VidiconProcess.serving(Self.plasma) { vidicon in
        let play = try await FFmpeg.play(vidicon.url(), seconds: 2, options: [])
        #expect(play.run.exit == .status(0), "\(play.run.errors)")
        #expect(play.pictures.count > 50)
        #expect(play.run.duration < .seconds(6))
      }
    }

    /// Checks the pictures that GStreamer decoded.
    private func expectMoving(_ pictures: Pictures) throws {
      try #require(pictures.count >= GStreamer.pictureCount)
      let last = GStreamer.pictureCount - 1
      #expect(pictures.mean(last) > 10)
      #expect(pictures.deviation(last) > 4)
      #expect(pictures.difference(last, last - 30) > 0.3)
    }
  }
}
