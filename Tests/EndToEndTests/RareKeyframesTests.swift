import FakeCamera
import Foundation
import HLSRules
import Testing

extension EndToEnd {
  /// Cameras whose encoders refuse requests for keyframes.
  @Suite("HLS of cameras with rare keyframes")
  struct RareKeyframes {
    /// Serves a camera of H.264 with a tone.
    ///
    /// - Parameter interval: Number of frames from one keyframe to the next, at 30 frames per second.
    private static func serving(
      interval: Int, _ options: [String], _ body: (VidiconProcess) async throws -> Void
    ) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let film = "\(folder)/camera.h264"
        // The camera repeats it.
        let made = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=30", "-frames:v", "\(interval)"]
            + ["-c:v", "libx264", "-preset", "ultrafast", "-g", "\(interval)", "-sc_threshold", "0", "-bf", "0"]
            + ["-pix_fmt", "yuv420p", "-bsf:v", "h264_metadata=aud=insert", "-f", "h264", film],
          within: .seconds(30))
        try #require(made.succeeded, "\(made.errors)")
        let camera = try FakeCamera.environment(["formats=H264 320x180 30;refuse=1;lossless=1;file=\(film)"])
        try await VidiconProcess.serving(
          ["--source", "v4l2:/dev/video0", "--audio", "tone", "--size", "320x180", "--fps", "30"] + options,
          environment: camera, body)
      }
    }

    private static func playlist(_ name: String, _ vidicon: VidiconProcess) async throws -> MediaPlaylistText {
      // Longer than the program waits for a keyframe.
      let answer = try await Curl.get(vidicon.page("/live/\(name)"), within: .seconds(60))
      try #require(answer.status == 200, "\(name): \(answer.status) \(answer.text)")
      return MediaPlaylistText(answer.text)
    }

    @Test(.tags(.pacing), arguments: [360, 1800])
    func `with --pass-through auto they are transcoded for HLS, whose segments last a second`(interval: Int)
      async throws
    {
      try await Self.serving(interval: interval, []) { vidicon in
        // Until a viewer waits for a keyframe.
        _ = try await vidicon.status { ($0.framesPassedThrough ?? 0) > 0 && ($0.framesEncoded ?? 0) == 0 }
        #expect(try await Self.playlist("playlist.m3u8", vidicon).targetDuration == 1)
        let passed = try await vidicon.status { ($0.framesEncoded ?? 0) > 0 }.framesPassedThrough
        let port = vidicon.httpPort
        async let segments = waiting { try SegmentViewer.watch("live", port: port, seconds: 8) }
        async let parts = waiting { try LowLatencyViewer.watch("live", port: port, seconds: 8) }
        let play = try await FFmpeg.play(vidicon.page("/live/playlist.m3u8"), seconds: 5, options: [])
        #expect(play.run.exit == .status(0) && FFmpeg.complaints(in: play.run.errors) == [], "\(play.run.errors)")
        #expect(play.frameRate > 25, "\(play.frameRate)")
        let whole = try await segments
        #expect(whole.checker.violations == [] && whole.problems == [])
        #expect(whole.segmentsMeasured > 4, "\(whole.segmentsMeasured)")
        let lowLatency = try await parts
        #expect(lowLatency.checker.violations == [] && lowLatency.problems == [])
        for name in ["playlist.m3u8", "live.m3u8"] {
          let playlist = try await Self.playlist(name, vidicon)
          #expect(playlist.targetDuration == 1 && playlist.whole.count > 3, "\(playlist)")
          #expect(playlist.whole.allSatisfy { $0.duration < 1.5 }, "\(playlist)")
        }
        // For good.
        #expect(try await vidicon.status { _ in true }.framesPassedThrough == passed)
      }
    }

    @Test func `with --pass-through on the target duration is learned before the first playlist, and kept`()
      async throws
    {
      try await Self.serving(interval: 360, ["--pass-through", "on"]) { vidicon in
        let first = try await Self.playlist("playlist.m3u8", vidicon)
        #expect(first.targetDuration == 12)
        #expect(first.segments.count >= 2 && first.segments.allSatisfy { $0.duration < 12.5 }, "\(first)")
        // No other viewer keeps the segments meanwhile. The playlist has 24 s, and the next segment ends 12 s later.
        let play = try await FFmpeg.play(
          vidicon.page("/live/playlist.m3u8"), seconds: 30, options: [], within: .seconds(75))
        #expect(play.run.exit == .status(0), "\(play.run.errors)")
        #expect(play.frames.count > 870 && play.times.count > 870, "\(play.frames.count), \(play.times.count)")
        #expect(try #require(play.times.last) - play.times[0] > 29)
        let steps = zip(play.times.dropFirst(), play.times).map { $0 - $1 }
        #expect(try #require(steps.max()) < 2, "\(steps.max() ?? 0) s")
        for name in ["playlist.m3u8", "live.m3u8"] {
          let playlist = try await Self.playlist(name, vidicon)
          #expect(playlist.targetDuration == 12 && playlist.whole.count > 1, "\(playlist)")
          #expect(playlist.whole.allSatisfy { $0.duration < 12.5 }, "\(playlist)")
          #expect(playlist.segments.allSatisfy { !$0.hasDiscontinuity }, "\(playlist)")
        }
        #expect(try await Metrics(of: vidicon).sum("vidicon_hls_activations_total") == 1)
        let status = try await vidicon.status { _ in true }
        #expect(status.framesEncoded == 0, "\(status)")
        // The program waits up to 4.3 s until viewers of long segments have reloaded the playlist.
        vidicon.child.signal(SIGINT)
        #expect(await vidicon.child.end(within: .seconds(10)) == .status(0), "\(vidicon.child.errors.text)")
      }
    }

    @Test func `with --pass-through on, and a keyframe a minute, a viewer hears the audio first`() async throws {
      try await Self.serving(interval: 1800, ["--pass-through", "on"]) { vidicon in
        // The first keyframe is over.
        _ = try await vidicon.status { ($0.framesPassedThrough ?? 0) > 30 }
        #expect(try await Self.playlist("playlist.m3u8", vidicon).targetDuration == 1)
        let run = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + ["-i", vidicon.page("/live/playlist.m3u8"), "-map", "0:a:0", "-t", "4", "-ac", "1"]
            + ["-ar", "44100", "-f", "s16le", "pipe:1"],
          within: .seconds(30))
        #expect(run.succeeded, "\(run.errors)")
        #expect(run.output.count > 3 * 2 * 44_100, "\(run.output.count)")
        let peak = stride(from: 1, to: run.output.count, by: 2).map { abs(Int(Int8(bitPattern: run.output[$0]))) }.max()
        #expect(peak ?? 0 > 4, "silence")
        for name in ["playlist.m3u8", "live.m3u8"] {
          #expect(try await Self.playlist(name, vidicon).targetDuration == 1, "\(name)")
        }
      }
    }
  }
}
