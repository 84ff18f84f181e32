import Testing

extension EndToEnd {
  @Suite("Desktop players: mpv and OBS Studio")
  struct Players {
    private static let plasma = ["--source", "plasma", "--audio", "tone", "--size", "1280x720", "--fps", "30"]

    @Test(.tags(.pacing)) func `mpv plays video and audio`() async throws {
      try await VidiconProcess.serving(Self.plasma) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          let seen = try await PlayedMedia.drive("mpv_play.py", [vidicon.url(), folder, "--seconds", "6"])
          report("first frame, s", seen.firstFrameSeconds ?? 99, limit: 5)
          #expect(try #require(seen.firstFrameSeconds) < 5)
          #expect(abs(try #require(seen.playedSeconds) - #require(seen.elapsedSeconds)) < 1)
          #expect(seen.videoCodec?.contains("h264") == true || seen.videoCodec?.contains("H.264") == true)
          #expect(seen.audioCodec?.lowercased().contains("aac") == true)
          try await seen.expectLiveVideo(width: 1280, height: 720)
        }
      }
    }

    @Test(.tags(.demanding)) func `OBS Studio shows it as a Media Source`() async throws {
      try await VidiconProcess.serving(Self.plasma) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          let options = ["--options", "rtsp_transport=tcp fpsprobesize=0 timeout=5000000", "--seconds", "4"]
          let seen = try await PlayedMedia.drive("obs_play.py", [vidicon.url(), folder] + options)
          #expect(seen.state == "OBS_MEDIA_STATE_PLAYING")
          try await seen.expectLiveVideo(width: 1280, height: 720)
        }
      }
    }
  }
}
