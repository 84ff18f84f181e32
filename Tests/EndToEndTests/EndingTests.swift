import Foundation
import Testing

extension EndToEnd {
  @Suite("End of a source, end of the program")
  struct Endings {
    @Test func `a pipe that ends leaves viewers with a slate`() async throws {
      let (pipe, ffmpeg) = try Self.pipe(seconds: 4)
      defer { ffmpeg.kill() }
      let options = ["--source", "pipe:", "--audio", "tone", "--size", "640x360", "--fps", "25"]
      try await VidiconProcess.serving(options, input: pipe) { vidicon in
        let play = try await FFmpeg.play(vidicon.url(), seconds: 12)
        #expect(play.run.exit == .status(0), "\(play.run.errors)")
        #expect(FFmpeg.complaints(in: play.run.errors) == [])
        let frames = play.frames
        try #require(frames.count > 100)
        let last = frames.count - 1
        #expect(frames.difference(0, last) > 5, "the slate must not look like the source")
        #expect(frames.difference(last, last - 1) < 1, "the slate stands still")
        #expect(frames.deviation(last) > 0.5, "the slate says something")
        #expect(try #require(play.times.last) - play.times[0] > 10)
        let maximumInterval = zip(play.times.dropFirst(), play.times).map { $0 - $1 }.max()
        #expect(try #require(maximumInterval) < 4, "from the last frame to the slate")
      }
    }

    @Test func `with --exit-on-eof the program exits at the end of the pipe`() async throws {
      let (pipe, ffmpeg) = try Self.pipe(seconds: 3)
      defer { ffmpeg.kill() }
      let options = ["--source", "pipe:", "--audio", "none", "--size", "640x360", "--exit-on-eof"]
      try await VidiconProcess.serving(options, input: pipe) { vidicon in
        #expect(await vidicon.child.end(within: .seconds(15)) == .status(0), "\(vidicon.child.errors.text)")
      }
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal ends it within 2 s, and every viewer's connection`(signal: Int32) async throws {
      try await VidiconProcess.serving(["--source", "plasma", "--audio", "tone", "--size", "640x360"]) { vidicon in
        let url = vidicon.url()
        async let ffmpeg = Tool.run(
          "ffmpeg", FFmpeg.quiet + FFmpeg.overTCP + ["-i", url, "-c", "copy", "-f", "null", "-"], within: .seconds(20))
        let port = vidicon.rtspPort
        let viewer = try await waiting { () -> RawConnection in
          let dialogue = try RTSPDialogue(port: port)
          guard try dialogue.play().status == 200 else { throw RTSPDialogue.Failure(what: "PLAY") }
          return dialogue.connection
        }
        _ = try await vidicon.status { $0.viewers == 2 }
        vidicon.child.signal(signal)
        #expect(await vidicon.child.end(within: .seconds(2)) == .status(0), "\(vidicon.child.errors.text)")
        await vidicon.child.output.end()
        #expect(vidicon.child.output.text.hasSuffix("{\"event\":\"stopped\"}\n"))
        #expect(try await waiting { viewer.isClosed(within: .seconds(2)) })
        #expect(try await ffmpeg.exit != nil, "ffmpeg waits on a connection that was not closed")
      }
    }

    @Test(.tags(.pacing), arguments: ["playlist.m3u8", "index.m3u8"])
    func `an HLS player shows a finite file to its last frame, and stops`(playlist: String) async throws {
      let file = try TestMedia.video()
      try await TestMedia.withTemporaryFolder { folder in
        let options = ["--source", "file:\(file)", "--size", "640x360", "--exit-on-eof"]
        try await VidiconProcess.serving(options) { vidicon in
          let url = vidicon.page("/live/\(playlist)")
          let run = try await Tool.run(
            "ffmpeg", FFmpeg.quiet + ["-i", url] + FFmpeg.copy(to: "\(folder)/copy.nut", from: url),
            within: .seconds(20))
          #expect(run.exit == .status(0))
          #expect(!run.errors.contains("Failed to reload") && FFmpeg.complaints(in: run.errors) == [], "\(run.errors)")
          #expect(await vidicon.child.end(within: .seconds(3)) == .status(0), "\(vidicon.child.errors.text)")
        }
        let times = try await FFmpeg.times("\(folder)/copy.nut", selecting: "v:0").sorted()
        #expect(times.count > 75, "\(times.count) frames of 132")
        let maximumInterval = zip(times.dropFirst(), times).map { $0 - $1 }.max()
        #expect(try #require(maximumInterval) < 0.13)
        let last = try await Self.lastFrame(of: "\(folder)/copy.nut") + Self.lastFrame(of: file)
        #expect(LumaFrames(width: 160, height: 90, bytes: last).difference(0, 1) < 4, "not the file's last frame")
      }
    }

    @Test(arguments: ["playlist.m3u8", "index.m3u8"])
    func `an HLS player stops after SIGINT, which does not delay the exit`(playlist: String) async throws {
      try await VidiconProcess.serving(["--source", "plasma", "--audio", "tone", "--size", "640x360"]) { vidicon in
        let url = vidicon.page("/live/\(playlist)")
        async let player = Tool.run(
          "ffmpeg", FFmpeg.quiet + ["-i", url, "-c", "copy", "-f", "null", "-"], within: .seconds(20))
        let limit = ContinuousClock.now + .seconds(10)
        while try await #require(Metrics(of: vidicon).sum("vidicon_hls_segments_total")) < 4, .now < limit {
          _ = try await vidicon.status { _ in true }
        }
        vidicon.child.signal(SIGINT)
        #expect(await vidicon.child.end(within: .seconds(2)) == .status(0), "\(vidicon.child.errors.text)")
        let run = try await player
        #expect(run.exit == .status(0))
        #expect(!run.errors.contains("Failed to reload") && FFmpeg.complaints(in: run.errors) == [], "\(run.errors)")
      }
    }

    private static func lastFrame(of path: String) async throws -> [UInt8] {
      let run = try await Tool.run(
        "ffmpeg", FFmpeg.quiet + ["-i", path, "-vf", "scale=160:90,format=gray", "-f", "rawvideo", "pipe:1"],
        within: .seconds(20))
      try #require(run.output.count >= 160 * 90, "\(run.errors)")
      return Array(run.output.suffix(160 * 90))
    }

    /// A pipe with a video in real time, for some seconds.
    private static func pipe(seconds: Int) throws -> (Pipe, ChildProcess) {
      let pipe = ChildProcess.pipe()
      let ffmpeg = try ChildProcess(
        Tool("ffmpeg").path,
        FFmpeg.quiet + ["-re", "-i", TestMedia.video(), "-t", "\(seconds)", "-an", "-vf", "scale=640:360"]
          + ["-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", "-"],
        outputPipe: pipe)
      return (pipe, ffmpeg)
    }
  }
}
