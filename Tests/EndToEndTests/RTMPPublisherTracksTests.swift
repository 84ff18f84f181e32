import Foundation
import Testing

extension EndToEnd {
  @Suite("RTMP publishers: one track, a silent one, and another size amid the stream")
  struct RTMPPublisherTracks {
    private static let key = "0123456789abcdef0123"
    private static let source = [
      "--source", "rtmp:?key=\(key)", "--size", "320x180", "--fps", "30", "--rtmp-port", "0",
    ]

    /// Serves the source while ffmpeg publishes to it.
    private static func publishing(
      _ arguments: [String], _ body: (VidiconProcess) async throws -> Void
    ) async throws {
      try await VidiconProcess.serving(Self.source) { vidicon in
        _ = try await vidicon.status { $0.isSlateShown == true }
        try await RTMPPublisher.publishing(arguments, to: vidicon.rtmp("live/\(Self.key)")) { publisher in
          try await body(vidicon)
          #expect(publisher.isRunning, "\(publisher.errors.text)")
        }
      }
    }

    /// Plays video and audio, both of which must flow without an error.
    private static func play(_ vidicon: VidiconProcess, seconds: Int) async throws -> FFmpeg.Play {
      let play = try await FFmpeg.play(vidicon.url(), seconds: seconds, within: .seconds(30))
      #expect(play.run.exit == .status(0), "\(play.run.errors)")
      #expect(FFmpeg.complaints(in: play.run.errors) == [])
      #expect(play.frames.count > 25 * seconds, "\(play.frames.count) frames")
      let audio = try #require(play.audio)
      let duration = Double(audio.samples.count) / Double(audio.sampleRate)
      #expect(duration > Double(seconds) * 0.9)
      return play
    }

    @Test(.tags(.pacing)) func `audio alone is heard, with the slate as video`() async throws {
      try await Self.publishing(RTMPPublisher.tone + RTMPPublisher.encodingAudio) { vidicon in
        // The tone, and not the silence before it.
        _ = try await vidicon.status { ($0.audioFramesPassedThrough ?? 0) > 50 }
        let play = try await Self.play(vidicon, seconds: 4)
        #expect(try #require(play.audio).level > 0.02)
        let status = try await vidicon.status { _ in true }
        #expect(status.isSlateShown == true && status.framesPassedThrough ?? 0 == 0)
      }
    }

    @Test(.tags(.pacing)) func `video of another codec is reported, and the AAC beside it is heard`() async throws {
      // Sorenson H.263.
      let arguments = RTMPPublisher.video + RTMPPublisher.tone + ["-c:v", "flv"] + RTMPPublisher.encodingAudio
      try await Self.publishing(arguments) { vidicon in
        try await vidicon.child.complains(
          "video codec Sorenson H.263 is not supported; send H.264 and AAC", within: .seconds(60))
        _ = try await vidicon.status { ($0.audioFramesPassedThrough ?? 0) > 50 }
        let play = try await Self.play(vidicon, seconds: 4)
        #expect(try #require(play.audio).level > 0.02)
        let status = try await vidicon.status { _ in true }
        #expect(status.isSlateShown == true && status.framesPassedThrough ?? 0 == 0)
      }
    }

    @Test(.tags(.pacing)) func `MP3 is reported, and the H.264 beside it is passed through`() async throws {
      let audio = ["-c:a", "libmp3lame", "-ar", "44100"]
      let arguments = RTMPPublisher.video + RTMPPublisher.tone + RTMPPublisher.encodingVideo + audio
      try await Self.publishing(arguments) { vidicon in
        try await vidicon.child.complains(
          "audio codec MP3 is not supported; send H.264 and AAC", within: .seconds(60))
        _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesPassedThrough ?? 0) > 30 }
        let play = try await Self.play(vidicon, seconds: 4)
        #expect(try #require(play.audio).level < 0.0001)
        #expect(play.frames.difference(play.frames.count - 1, play.frames.count - 40) > 0.3)
      }
    }

    @Test(.tags(.pacing)) func `video alone is passed through, with silence as audio`() async throws {
      try await Self.publishing(RTMPPublisher.video + RTMPPublisher.encodingVideo) { vidicon in
        _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesPassedThrough ?? 0) > 30 }
        let play = try await Self.play(vidicon, seconds: 4)
        #expect(try #require(play.audio).level < 0.0001)
        #expect(play.frames.difference(play.frames.count - 1, play.frames.count - 40) > 0.3)
      }
    }

    @Test(.tags(.pacing)) func `a still screen with a frame each 20 s, without audio, keeps its frame`() async throws {
      let screen = ["-f", "lavfi", "-i", "color=white:s=320x180:r=10", "-vf", "select='not(mod(n,200))'"]
      let arguments = screen + ["-fps_mode", "vfr"] + RTMPPublisher.encodingVideo + ["-g", "1", "-flush_packets", "1"]
      try await Self.publishing(arguments) { vidicon in
        let first = try await vidicon.status { $0.isSlateShown == false && ($0.framesIn ?? 0) > 0 }
        let late = ContinuousClock.now + .seconds(18)
        let still = try await vidicon.status { _ in ContinuousClock.now >= late }
        #expect(still.isSlateShown == false)
        let play = try await FFmpeg.play(vidicon.url(), frames: 10)
        #expect(play.frames.count >= 10 && play.frames.mean(9) > 200, "\(play.run.errors)")
        let next = try await vidicon.status(within: .seconds(60)) { ($0.framesIn ?? 0) > (first.framesIn ?? 0) }
        #expect(next.isSlateShown == false)
      }
    }

    @Test(.tags(.pacing)) func `audio that is promised and does not come holds no video up, and is silent`()
      async throws
    {
      // Metadata and configuration of audio, and two frames of it. ffmpeg would wait for more of them too.
      let shortTone = ["-t", "0.02"] + RTMPPublisher.tone
      let encoding = RTMPPublisher.encodingVideo + RTMPPublisher.encodingAudio
      let arguments = RTMPPublisher.video + shortTone + encoding + ["-max_interleave_delta", "1"]
      try await Self.publishing(arguments) { vidicon in
        let first = try await vidicon.status(within: .seconds(10)) { $0.isSlateShown == false }
        _ = try await vidicon.status { ($0.framesPassedThrough ?? 0) > (first.framesPassedThrough ?? 0) + 30 }
        let play = try await Self.play(vidicon, seconds: 4)
        #expect(try #require(play.audio).level < 0.0001)
        #expect(play.frames.difference(play.frames.count - 1, play.frames.count - 40) > 0.3)
        let status = try await vidicon.status { _ in true }
        #expect((status.framesPassedThrough ?? 0) > (first.framesPassedThrough ?? 0) + 100)
      }
    }

    @Test(.tags(.pacing)) func `video that changes its size amid the stream goes on, scaled`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        // The second part has another configuration, and the timestamps that follow.
        var film = Data()
        for (part, size) in ["320x180", "480x270"].enumerated() {
          let file = "\(folder)/\(part).flv"
          let seconds = 4
          let run = try await Tool.run(
            "ffmpeg",
            ["-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=\(size):r=30"] + RTMPPublisher.encodingVideo
              + ["-t", "\(part == 0 ? seconds : 60)", "-output_ts_offset", "\(part * seconds)", "-f", "flv", file],
            within: .seconds(30))
          try #require(run.succeeded, "\(run.errors)")
          // Behind the header and the size of the tag before the first one.
          film += try Data(contentsOf: URL(filePath: file)).dropFirst(part == 0 ? 0 : 13)
        }
        let path = "\(folder)/film.flv"
        try film.write(to: URL(filePath: path))
        try await Self.publishing(["-i", path, "-c", "copy"]) { vidicon in
          _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesPassedThrough ?? 0) > 10 }
          let play = try await Self.play(vidicon, seconds: 7)
          let steps = zip(play.times.dropFirst(), play.times).map { $0 - $1 }
          #expect(try #require(steps.max()) < 0.5, "it never stopped")
          // Frames of another size are decoded, and encoded at the stream's.
          let before = try await vidicon.status { _ in true }
          let after = try await vidicon.status { ($0.framesIn ?? 0) > (before.framesIn ?? 0) + 30 }
          #expect(after.framesPassedThrough == before.framesPassedThrough)
          #expect(after.isSlateShown == false)
          let looked = try await FFprobe.look(at: vidicon.url())
          #expect(looked.video?.width == 320 && looked.video?.height == 180)
        }
      }
    }
  }
}
