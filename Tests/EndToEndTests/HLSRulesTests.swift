import Foundation
import HLSRules
import Testing

extension EndToEnd {
  @Suite("HLS rules, on a live stream")
  struct LiveRules {
    @Test(.tags(.pacing)) func `for a minute both playlists and their files follow all rules`()
      async throws
    {
      let options = ["--source", "plasma", "--audio", "tone", "--size", "640x360", "--fps", "30", "--bitrate", "400k"]
      try await VidiconProcess.serving(options) { vidicon in
        let port = vidicon.httpPort
        let seconds = 60.0
        async let fragments = waiting { try LowLatencyViewer.watch("live", port: port, seconds: seconds) }
        async let segments = waiting { try SegmentViewer.watch("live", port: port, seconds: seconds) }

        let lowLatency = try await fragments
        #expect(lowLatency.checker.violations == [])
        #expect(lowLatency.problems == [])
        #expect(lowLatency.checker.playlistCount > 250)
        #expect(lowLatency.hintsReceived > 250)
        #expect(lowLatency.deltasCompared > 150)
        #expect(lowLatency.skippedSegments >= 5)
        #expect(lowLatency.partsMeasured > 250)
        #expect(lowLatency.segmentsMeasured > 50)

        let whole = try await segments
        #expect(whole.checker.violations == [])
        #expect(whole.problems == [])
        #expect(whole.segmentsMeasured > 50)
      }
    }

    @Test(.tags(.pacing))
    func `a stream without viewers is not segmented, and the next viewer continues its sequence numbers`() async throws
    {
      let options = ["--source", "plasma", "--audio", "tone", "--size", "640x360", "--fps", "30", "--bitrate", "400k"]
      try await VidiconProcess.serving(options) { vidicon in
        let before = try await Metrics(of: vidicon)
        #expect(before.sum("vidicon_hls_active") == 0 && before.sum("vidicon_hls_parts_total") == 0)
        let first = try await Self.firstPlaylist(of: vidicon)
        #expect(first.mediaSequence == 0)
        var rest = try await Metrics(of: vidicon)
        #expect(rest.sum("vidicon_hls_active") == 1)
        let limit = ContinuousClock.now + .seconds(12)
        // The program prints its status once per second.
        while rest.sum("vidicon_hls_active") == 1, ContinuousClock.now < limit {
          _ = try await vidicon.status { _ in true }
          rest = try await Metrics(of: vidicon)
        }
        for _ in 1...2 { _ = try await vidicon.status { _ in true } }
        let later = try await Metrics(of: vidicon)
        #expect(later.sum("vidicon_hls_active") == 0)
        #expect(later.sum("vidicon_hls_window_bytes") == 0)
        for name in ["vidicon_hls_segments_total", "vidicon_hls_parts_total", "vidicon_hls_samples_dropped_total"] {
          #expect(later.sum(name) == rest.sum(name))
        }
        let segments = try #require(later.sum("vidicon_hls_segments_total"))
        #expect((9...13).contains(segments))

        let second = try await Self.firstPlaylist(of: vidicon)
        #expect(second.mediaSequence >= Int(segments))
        #expect(second.segments.first?.hasDiscontinuity == true)
        for playlist in ["playlist.m3u8", "index.m3u8"] {
          let play = try await FFmpeg.play(vidicon.page("/live/\(playlist)"), seconds: 5, options: [])
          #expect(play.run.exit == .status(0) && FFmpeg.complaints(in: play.run.errors) == [], "\(play.run.errors)")
        }
      }
    }

    /// Playlist that the first viewer gets, within 2.5 s: a keyframe may be delayed by 0.5 s, and three segments of 0.5 s
    /// follow.
    private static func firstPlaylist(of vidicon: VidiconProcess) async throws -> MediaPlaylistText {
      let port = vidicon.httpPort
      let start = ContinuousClock.now
      let answer = try await waiting { try HTTPConnection(port: port).get("/live/playlist.m3u8") }
      #expect(answer.status == 200)
      report("first playlist, s", inSeconds(answer.instant - start), limit: 2.5)
      #expect(answer.instant - start < .milliseconds(2500))
      return MediaPlaylistText(answer.text)
    }
  }
}
