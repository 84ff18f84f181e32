import Foundation
import Testing

extension EndToEnd {
  @Suite("Recording: changed codec parameters")
  struct RecordingFormats {
    /// Profile, level and parameter sets of a file's video.
    private static func parameters(_ path: String) async throws -> String {
      let probe = try await Tool.run(
        "ffprobe",
        ["-v", "error", "-select_streams", "v:0", "-show_entries", "stream=profile,level,extradata_hash"]
          + ["-show_data_hash", "md5", "-of", "csv", path], within: .seconds(20))
      try #require(probe.succeeded, "\(probe.errors)")
      return String(decoding: probe.output, as: UTF8.self)
    }

    @Test(.tags(.pacing))
    func `a network source that was passed through, and the source after it, are two files that lack no frame`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        // The bitrate raises the level in the sequence parameter set: other parameters than those of the second encoder.
        let camera = ["--source", "bars", "--audio", "tone", "--size", "640x360", "--fps", "15", "--bitrate", "8M"]
        try await VidiconProcess.serving(camera) { camera in
          let options = ["--source", camera.url(), "--record", "\(folder)/{name}.mp4"]
          try await VidiconProcess.serving(options) { vidicon in
            _ = try await vidicon.status { $0.framesPassedThrough ?? 0 > 90 && $0.framesEncoded == 0 }
            let answer = try await LiveControl.send(
              "PUT", #"{"video":"bars"}"#, to: vidicon.page("/api/streams/live/source"))
            #expect(answer.status == 200)
            _ = try await vidicon.status { $0.framesEncoded ?? 0 > 45 }
          }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["live-2.mp4", "live.mp4"])
        let paths = ["\(folder)/live.mp4", "\(folder)/live-2.mp4"]
        #expect(try await Self.parameters(paths[0]) != Self.parameters(paths[1]))
        var captures: [Int64] = []
        for (path, tolerance) in zip(paths, [0.034, 0.2]) {
          let file = try await RecordedFile(path)
          file.checkThatItIsWhole()
          #expect(file.captures.count > 40, "\(path)")
          captures += file.captures.compactMap { $0 }
          // Each frame is shown at the time of its capture, but for the second after the switch, in which the difference of
          // the sources' latencies decays.
          let first = try #require(file.captures.first ?? nil)
          for (capture, time) in zip(file.captures, file.times) {
            let shown = Double((capture ?? 0) - first) / 1e6
            #expect(abs(shown - (time - file.times[0])) < tolerance, "\(path): \(shown) s at \(time) s")
          }
        }
        // The second source begins within some frames of the end of the first; elsewhere no frame is missing.
        let steps = zip(captures.dropFirst(), captures).map { $0 - $1 }
        #expect(steps.allSatisfy { $0 > 0 }, "\(steps.min() ?? 0)")
        #expect(steps.filter { abs($0 - 66_667) > 34_000 }.count <= 1, "\(steps)")
        #expect((steps.max() ?? 0) < 1_000_000)
      }
    }
  }
}
