import Foundation
import Testing

extension EndToEnd {
  @Suite("Joining a running stream, and many viewers at once")
  struct Joins {
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
        #expect(waits.sorted()[2] < .seconds(1.5), "\(waits)")
        _ = try await vidicon.status { ($0.keyframeRequests ?? 0) > requests }
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
