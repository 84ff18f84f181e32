import Foundation
import Testing

extension EndToEnd {
  @Suite("Desktop players: mpv and OBS Studio")
  struct Players {
    private static let plasma = ["--source", "plasma", "--audio", "tone", "--size", "1280x720", "--fps", "30"]

    /// Output of mpv_play.py and obs_play.py.
    private struct Seen: Decodable {
      var firstFrameSeconds: Double?
      var playedSeconds: Double?
      var elapsedSeconds: Double?
      var width: Int?
      var height: Int?
      var videoCodec: String?
      var audioCodec: String?
      var state: String?
      var screenshots: [String]
    }

    @Test(.tags(.pacing)) func `mpv plays video and audio`() async throws {
      try await VidiconProcess.serving(Self.plasma) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          let seen = try await Self.drive("mpv_play.py", [vidicon.url(), folder, "--seconds", "6"])
          #expect(try #require(seen.firstFrameSeconds) < 5)
          #expect(abs(try #require(seen.playedSeconds) - #require(seen.elapsedSeconds)) < 1)
          #expect(seen.videoCodec?.contains("h264") == true || seen.videoCodec?.contains("H.264") == true)
          #expect(seen.audioCodec?.lowercased().contains("aac") == true)
          try await Self.expectLiveVideo(seen)
        }
      }
    }

    @Test(.tags(.demanding)) func `OBS Studio shows it as a Media Source`() async throws {
      try await VidiconProcess.serving(Self.plasma) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          let options = ["--options", "rtsp_transport=tcp fpsprobesize=0 timeout=5000000", "--seconds", "4"]
          let seen = try await Self.drive("obs_play.py", [vidicon.url(), folder] + options)
          #expect(seen.state == "OBS_MEDIA_STATE_PLAYING")
          try await Self.expectLiveVideo(seen)
        }
      }
    }

    private static func drive(_ script: String, _ arguments: [String]) async throws -> Seen {
      let run = try await Tool.run("python3", [TestMedia.client(script)] + arguments, within: .seconds(90))
      try #require(run.succeeded, "\(script): \(run.errors)")
      return try JSONDecoder().decode(Seen.self, from: Data(run.output))
    }

    /// Checks that two screenshots have content, and differ.
    private static func expectLiveVideo(_ seen: Seen) async throws {
      #expect(seen.width == 1280)
      #expect(seen.height == 720)
      try #require(seen.screenshots.count == 2)
      var luma: [UInt8] = []
      for screenshot in seen.screenshots {
        let run = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + ["-i", screenshot, "-vf", "scale=320:180,format=gray", "-f", "rawvideo", "pipe:1"],
          within: .seconds(10))
        luma += run.output
      }
      let frames = LumaFrames(width: 320, height: 180, bytes: luma)
      try #require(frames.count == 2)
      #expect(frames.deviation(0) > 8)
      #expect(frames.deviation(1) > 8)
      #expect(frames.difference(0, 1) > 0.05, "both screenshots show the same")
    }
  }
}
