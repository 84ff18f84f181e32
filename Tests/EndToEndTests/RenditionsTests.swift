import Foundation
import Testing

extension EndToEnd {
  @Suite("Renditions")
  struct Renditions {
    /// Times of all video packets of a file, and of its keyframes, in seconds.
    private static func times(of path: String) async throws -> (all: [Double], keyframes: [Double]) {
      let run = try await Tool.run(
        "ffprobe",
        ["-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts_time,flags", "-of", "csv=p=0", path],
        within: .seconds(20))
      var (all, keyframes) = ([Double](), [Double]())
      for line in run.outputText.split(separator: "\n") {
        let fields = line.split(separator: ",")
        guard fields.count >= 2, let time = Double(fields[0]) else { continue }
        all.append(time)
        if fields[1].hasPrefix("K") { keyframes.append(time) }
      }
      return (all, keyframes)
    }

    private static func intervals(_ times: some Sequence<Double>) -> [Double] {
      let times = Array(times)
      return zip(times.dropFirst(), times).map { $0 - $1 }
    }

    @Test func `both renditions play at once over RTSP, in their sizes, with keyframes at the same frames`()
      async throws
    {
      try await VidiconProcess.serving(["--source", "plasma", "--audio", "tone"]) { vidicon in
        for url in [vidicon.url("live/low"), vidicon.url("live?rendition=low"), vidicon.url("low")] {
          let low = try await FFprobe.look(at: url)
          #expect((low.video?.width, low.video?.height) == (640, 360))
          #expect(low.audio?.codecName == "aac")
        }
        let main = try await FFprobe.look(at: vidicon.url())
        #expect((main.video?.width, main.video?.height) == (1280, 720))
        try await TestMedia.withTemporaryFolder { folder in
          let runs = try await withThrowingTaskGroup(of: Tool.Run.self) { viewers in
            for (name, path) in [("main", "live"), ("low", "live/low")] {
              let url = vidicon.url(path)
              viewers.addTask {
                try await Tool.run(
                  "ffmpeg",
                  FFmpeg.quiet + FFmpeg.overTCP + ["-fpsprobesize", "0", "-i", url, "-t", "8"]
                    + FFmpeg.copy(to: "\(folder)/\(name).nut", from: url), within: .seconds(30))
              }
            }
            _ = try await vidicon.status { ($0.viewers ?? 0) >= 2 }
            // Their keyframes come at times of their own.
            for path in ["live", "live/low", "live"] { _ = try await FFprobe.look(at: vidicon.url(path)) }
            return try await viewers.reduce(into: []) { $0.append($1) }
          }
          for run in runs {
            #expect(run.succeeded, "\(run.errors)")
            #expect(FFmpeg.complaints(in: run.errors) == [])
          }
          let (first, second) = (
            try await Self.times(of: "\(folder)/main.nut"), try await Self.times(of: "\(folder)/low.nut")
          )
          #expect(Self.intervals(second.all).allSatisfy { abs($0 - 1 / 30) < 0.02 })
          // From the last keyframe on, backwards, as far as both go; the first ones are those of joining.
          let main = Array(Self.intervals(first.keyframes.dropFirst(2)).reversed())
          let low = Array(Self.intervals(second.keyframes.dropFirst(2)).reversed())
          try #require(main.count >= 2 && low.count >= 2)
          let isAligned = (0..<2).contains { skipped in
            [(main.dropFirst(skipped), low[...]), (main[...], low.dropFirst(skipped))].contains { pair in
              zip(pair.0, pair.1).allSatisfy { abs($0 - $1) < 0.001 }
            }
          }
          #expect(isAligned, "\(main) \(low)")
        }
      }
    }

    @Test(.tags(.timing)) func `an unused rendition starts within half a second`() async throws {
      try await VidiconProcess.serving(["--source", "plasma", "--audio", "tone"]) { vidicon in
        _ = try await vidicon.status { ($0.framesEncoded ?? 0) > 30 }
        let start = ContinuousClock.now
        // The response to PLAY comes with the first keyframe.
        let viewer = try RTSPDialogue(port: vidicon.rtspPort, path: "/live/low")
        #expect(try viewer.play().status == 200)
        #expect(ContinuousClock.now - start < .milliseconds(500))
      }
    }

    @Test func `a rendition that cannot be had is one line, and the stream plays`() async throws {
      let options = ["--source", "plasma", "--size", "320x240", "--rendition", "name=big,size=640x480,bitrate=450k"]
      try await VidiconProcess.serving(options) { vidicon in
        _ = try await vidicon.status { ($0.framesEncoded ?? 0) > 5 }
        let lines = vidicon.child.errors.text.split(separator: "\n").filter { $0.contains("big") }
        #expect(lines.count == 1 && lines.first?.contains("larger") == true, "\(lines)")
        #expect(try RTSPDialogue(port: vidicon.rtspPort, path: "/live/big").ask("DESCRIBE").status == 404)
        #expect(try await FFprobe.look(at: vidicon.url()).video?.width == 320)
      }
      for specification in ["name=low,size=641x360,bitrate=450k", "name=whep,size=640x360,bitrate=450k", "low"] {
        let (exit, errors) = try await VidiconProcess.run(["serve", "--rendition", specification])
        #expect(exit == .status(64) && errors.split(separator: "\n").count == 1, "\(errors)")
      }
    }
  }
}
