import FakeCamera
import Foundation
import Testing

extension EndToEnd {
  @Suite("Joining a running stream, and many viewers at once")
  struct Joins {
    /// Output of churn.py.
    private struct Churn: Decodable {
      struct Holdings: Decodable {
        var threads: Int
        var files: Int
        var kilobytes: Int
      }

      var before: Holdings
      var after: Holdings
      var joins: Int
    }

    @Test func `after hundreds of random joins and leaves, threads, descriptors and memory are those of the start`()
      async throws
    {
      // Freed memory goes back to the system: what the allocator keeps otherwise differs by 20 MB from moment to moment.
      let allocator = [
        "MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "131072", "MALLOC_MMAP_THRESHOLD_": "65536",
      ]
      try await VidiconProcess.serving(
        ["--source", "plasma", "--audio", "tone", "--size", "1280x720"], environment: allocator
      ) { vidicon in
        let ports = [vidicon.rtspPort, vidicon.httpPort].map(String.init)
        let process = String(vidicon.child.processIdentifier)
        let run = try await Tool.run(
          "python3", [TestMedia.client("churn.py"), process] + ports + ["live", "20", "7"], within: .seconds(120))
        try #require(run.succeeded, "\(run.errors)")
        let churn = try JSONDecoder().decode(Churn.self, from: Data(run.output))
        #expect(churn.joins > 300)
        #expect(churn.after.threads <= churn.before.threads, "\(churn)")
        #expect(churn.after.files <= churn.before.files, "\(churn)")
        // 5 MB more or less is usual; a kilobyte lost with each viewer would not be found here, 30 kB would.
        #expect(churn.after.kilobytes < churn.before.kilobytes + max(16_000, 20 * churn.joins), "\(churn)")
        #expect(try await FFprobe.look(at: vidicon.url()).video?.width == 1280)
      }
    }

    @Test(.tags(.timing)) func `a viewer that joins between keyframes gets a complete frame within 1.5 s`() async throws
    {
      try await VidiconProcess.serving(["--source", "plasma", "--audio", "tone"]) { vidicon in
        let requests = try await vidicon.status { ($0.framesEncoded ?? 0) > 40 }.keyframeRequests ?? 0
        var waits: [Duration] = []
        for _ in 0..<5 {
          let run = try await Tool.run(
            "ffmpeg",
            FFmpeg.quiet + ["-xerror"] + FFmpeg.overTCP + ["-fpsprobesize", "0", "-i", vidicon.url(), "-frames:v", "1"]
              + ["-an", "-f", "rawvideo", "-pix_fmt", "gray", "pipe:1"],
            within: .seconds(10))
          #expect(run.succeeded, "\(run.errors)")
          #expect(FFmpeg.complaints(in: run.errors) == [])
          let frame = LumaFrames(width: 1280, height: 720, bytes: run.output)
          try #require(frame.count == 1)
          #expect(frame.deviation(0) > 4)
          waits.append(run.duration)
        }
        report("median of joins, s", inSeconds(waits.sorted()[2]), limit: 1.5)
        #expect(waits.sorted()[2] < .seconds(1.5), "\(waits)")
        _ = try await vidicon.status { ($0.keyframeRequests ?? 0) > requests }
      }
    }

    @Test(.tags(.timing))
    func `start=cached shows a camera with rare keyframes within half a second, over TCP and UDP`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/rare.h264"
        // One keyframe in a minute.
        let made = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + ["-f", "lavfi", "-i", "testsrc2=s=640x360:r=30", "-t", "60", "-c:v", "libx264"]
            + ["-preset", "ultrafast", "-g", "1800", "-sc_threshold", "0", "-bf", "0", "-pix_fmt", "yuv420p"]
            + ["-bsf:v", "h264_metadata=aud=insert", "-f", "h264", path],
          within: .seconds(30))
        try #require(made.succeeded)
        let camera = try FakeCamera.environment(["formats=H264 640x360 30;file=\(path)"])
        let options = ["--source", "v4l2:/dev/video0", "--audio", "none", "--size", "640x360", "--fps", "30"]
        try await VidiconProcess.serving(
          options + ["--pass-through", "on", "--rtsp-udp"], environment: camera
        ) { vidicon in
          // The camera's first keyframe may precede the stream; this viewer requests another one.
          _ = try await FFprobe.look(at: vidicon.url())
          let joined = try await vidicon.status { ($0.keyframeRequests ?? 0) > 0 }
          let last = try await vidicon.status { ($0.framesIn ?? 0) > (joined.framesIn ?? 0) + 180 }
          let url = vidicon.url() + "?start=cached"
          for transport in ["tcp", "udp"] {
            var waits: [Duration] = []
            for _ in 0..<5 {
              let run = try await Tool.run(
                "ffmpeg",
                FFmpeg.quiet + ["-xerror", "-rtsp_transport", transport, "-fpsprobesize", "0", "-i", url]
                  + ["-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "gray", "pipe:1"], within: .seconds(10))
              #expect(run.succeeded, "\(run.errors)")
              #expect(FFmpeg.complaints(in: run.errors) == [])
              waits.append(run.duration)
            }
            report("median of joins, s, \(transport)", inSeconds(waits.sorted()[2]), limit: 0.5)
            #expect(waits.sorted()[2] < .seconds(0.5), "\(transport): \(waits)")
            // All that followed the keyframe comes at once, and live frames join it without a gap: seconds of frames in less
            // than their time.
            let start = ContinuousClock.now
            let play = try await FFmpeg.play(
              url, seconds: 8, options: ["-rtsp_transport", transport, "-fpsprobesize", "0"], audio: false)
            #expect(play.run.succeeded, "\(transport): \(play.run.errors)")
            #expect(FFmpeg.complaints(in: play.run.errors) == [])
            #expect(ContinuousClock.now - start < .seconds(6))
            let intervals = zip(play.times.dropFirst(), play.times).map { $0 - $1 }
            try #require(intervals.count > 200)
            #expect(intervals.allSatisfy { $0 < 0.04 }, "\(transport): \(intervals.max() ?? 0)")
          }
          let end = try await vidicon.status { ($0.framesIn ?? 0) > (last.framesIn ?? 0) + 60 }
          #expect(end.keyframeRequests == last.keyframeRequests)
        }
      }
    }

    @Test(.tags(.timing)) func `twenty viewers at once each get every frame`() async throws {
      try await VidiconProcess.serving(["--source", "plasma", "--audio", "tone", "--size", "640x360"]) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          try await withThrowingTaskGroup(of: (Tool.Run, [Double]).self) { viewers in
            for index in 0..<20 {
              viewers.addTask {
                let copy = "\(folder)/\(index).nut"
                let run = try await Tool.run(
                  "ffmpeg",
                  FFmpeg.quiet + FFmpeg.overTCP + ["-fpsprobesize", "0", "-i", vidicon.url(), "-t", "10"]
                    + FFmpeg.copy(to: copy, from: vidicon.url()),
                  within: .seconds(40))
                return (run, try await FFmpeg.times(ofVideoIn: copy))
              }
            }
            _ = try await vidicon.status(within: .seconds(20)) { $0.viewers == 20 }
            for try await (run, times) in viewers {
              #expect(run.exit == .status(0), "\(run.errors)")
              #expect(FFmpeg.complaints(in: run.errors) == [])
              try #require(times.count > 2)
              let rate = Double(times.count - 1) / (times[times.count - 1] - times[0])
              #expect(abs(rate - 30) < 1.5, "\(rate) frames per second")
              let maximumInterval = zip(times.dropFirst(), times).map { $0 - $1 }.max()
              #expect(try #require(maximumInterval) < 0.2)
            }
          }
          _ = try await vidicon.status(within: .seconds(20)) { $0.viewers == 0 }
        }
      }
    }
  }
}
