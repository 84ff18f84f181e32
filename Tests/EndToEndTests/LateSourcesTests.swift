import FakeCamera
import Foundation
import Testing

extension EndToEnd {
  @Suite("Sources of different latency")
  struct LateSources {
    @Test(.tags(.timing)) func `frames keep arriving at a viewer when the source is switched to a later one and back`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        // Cameras whose frames have timestamps that are this many milliseconds old.
        let cameras = [5, 500, 50, 350].map { "formats=YUYV 320x240 30;late=\($0)" }
        let options = ["--source", "v4l2:/dev/video0", "--audio", "none", "--size", "320x240", "--fps", "30"]
        try await VidiconProcess.serving(options, environment: FakeCamera.environment(cameras)) { vidicon in
          _ = try await vidicon.status { $0.framesEncoded ?? 0 > 30 }
          let path = "\(folder)/arrivals.nut"
          // Packets get the time of their arrival in place of their timestamp.
          async let recording = Tool.run(
            "ffmpeg",
            FFmpeg.quiet + ["-use_wallclock_as_timestamps", "1"] + FFmpeg.overTCP
              + ["-i", vidicon.url(), "-map", "0:v:0", "-t", "12", "-c", "copy", "-f", "nut", path],
            within: .seconds(40))
          for camera in [1, 0, 2, 1, 3, 0, 1, 2] {
            try await LiveControl.waitForASecond(vidicon)
            let answer = try await LiveControl.send(
              "PUT", #"{"video":"v4l2:/dev/video\#(camera)"}"#, to: vidicon.page("/api/streams/live/source"))
            #expect(answer.status == 200, "\(answer.text)")
          }
          let run = try await recording
          try #require(run.succeeded, "\(run.errors)")
          let times = try await FFmpeg.times(ofVideoIn: path)
          try #require(times.count > 240, "\(times.count) frames in 12 s")
          // The client's parser delivers the first frames together.
          let steps = zip(times.dropFirst(15), times.dropFirst(16)).map { $1 - $0 }
          let sorted = steps.sorted()
          print("arrivals: p50 \(sorted[sorted.count / 2]) s, maximum \(sorted.last ?? 0) s, \(steps.count) frames")
          #expect(try #require(sorted.last) < 2.0 / 30 + 0.005, "\(sorted.suffix(8))")
          let status = try await vidicon.status { _ in true }
          #expect(status.isSlateShown == false)
        }
      }
    }
  }
}
