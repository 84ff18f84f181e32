import Foundation
import Testing

extension EndToEnd {
  @Suite("Faces: masks, privacy, smiles")
  struct Faces {
    /// Masked streams of the clip, with the maximum detail of the face.
    private static let masks: [(name: String, options: String, detail: Double)] = [
      ("oval", "mask=oval", 0.5), ("solid", "mask=solid", 0.5), ("blur", "mask=blur", 3),
      ("pixelate", "mask=pixelate", 4), ("image", "mask=IMAGE", 1),
    ]

    @Test(.tags(.demanding)) func `each mask covers the face over RTSP, over HLS and in the recorded file`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let image = "\(folder)/mask.png"
        try await Self.makeImage(image)
        let streams = Self.masks.flatMap { mask in
          ["--stream", "name=\(mask.name),\(mask.options.replacing("IMAGE", with: image))"]
        }
        let names = Self.masks.map(\.name) + ["plain"]
        var plays: [(name: String, way: String, clip: FaceClip)] = []
        try await VidiconProcess.serving(
          FaceClip.source() + ["--record", "\(folder)/{name}.mp4"] + streams + ["--stream", "name=plain"]
        ) { vidicon in
          plays = try await withThrowingTaskGroup(of: (String, String, FaceClip).self) { group in
            for name in names {
              group.addTask { (name, "RTSP", try await FaceClip(vidicon.url(name), seconds: 1)) }
              group.addTask { (name, "HLS", try await FaceClip(vidicon.page("/\(name)/index.m3u8"), seconds: 1)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
          }
        }
        for name in names { plays.append((name, "MP4", try await FaceClip("\(folder)/\(name).mp4", seconds: 3))) }

        let plain = try #require(plays.first { $0.name == "plain" && $0.way == "MP4" }?.clip)
        #expect(plain.frames.count > 2 && plain.details.allSatisfy { $0 > 7 }, "\(plain.details)")
        for (name, way, clip) in plays where name != "plain" {
          let maximumDetail = try #require(Self.masks.first { $0.name == name }?.detail)
          #expect(clip.frames.count > 2, "\(name) over \(way)")
          #expect(clip.details.allSatisfy { $0 < maximumDetail }, "\(name) over \(way): \(clip.details)")
          // Consecutive frames of the clip differ by less.
          #expect(clip.distanceBesideFace(from: plain) < 5, "\(name) over \(way)")
        }
      }
    }

    /// An opaque image of one color.
    private static func makeImage(_ path: String) async throws {
      let run = try await Tool.run(
        "ffmpeg", FFmpeg.quiet + ["-f", "lavfi", "-i", "color=magenta:size=64x64", "-frames:v", "1", path],
        within: .seconds(10))
      try #require(run.succeeded, "\(run.errors)")
    }

    @Test
    func `privacy masks from the first frame on, a smile triggers a snapshot, and frames without a face are unmasked`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let face = try FaceClip.source()
        let none = ["--source", "file:\(try TestMedia.file("no_face.mp4"))", "--audio", "none", "--fps", "10"]
        async let covered = self.record(
          "\(folder)/privacy.mp4", face + ["--faces", "privacy", "--snapshot-on", "smile:\(folder)"])
        async let masked = self.record("\(folder)/masked.mp4", none + ["--mask", "solid", "--duration", "2s"])
        let plain = try await FaceClip(TestMedia.file("no_face.mp4"))
        let clip = try await covered
        // The mask, or the whole frame, is dark.
        #expect(clip.frames.count > 5 && clip.brightest.allSatisfy { $0 < 60 }, "\(clip.brightest)")
        let unmasked = try await masked
        #expect(unmasked.distance(from: plain) < 20)

        let kept = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".jpg") }
        try #require(kept.count == 1 && kept[0].hasPrefix("live_"), "\(kept)")
        // The snapshot is masked as the stream is.
        #expect(try await FaceClip("\(folder)/\(kept[0])").brightest.allSatisfy { $0 < 60 })
      }
    }

    /// Records the clip to its end and decodes the file.
    private func record(_ path: String, _ options: [String]) async throws -> FaceClip {
      let run = try await Tool.run(program: VidiconProcess.path(), ["record", path] + options, within: .seconds(20))
      try #require(run.succeeded, "\(run.errors)")
      return try await FaceClip(path)
    }

    @Test(.tags(.timing)) func `tracking faces adds less than one frame interval of latency`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let face = "\(folder)/face.png"
        let cut = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + ["-i", try TestMedia.file("single_face.mp4"), "-vf", "crop=280:336:160:20"]
            + ["-frames:v", "1", face],
          within: .seconds(10))
        try #require(cut.succeeded, "\(cut.errors)")
        try await VidiconProcess.serving(["--source", "bars", "--audio", "none", "--size", "640x360"]) { bars in
          // The bars with their timecode strip, and a face overlaid.
          let pipe = ChildProcess.pipe()
          let source = try ChildProcess(
            Tool("ffmpeg").path,
            FFmpeg.quiet + StripWatch.live + ["-i", bars.url(), "-vf", "movie=\(face)[face];[in][face]overlay=180:16"]
              + ["-r", "30", "-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", "-"],
            outputPipe: pipe)
          defer { source.kill() }
          let options = ["--source", "pipe:", "--audio", "none", "--size", "640x360"]
          try await VidiconProcess.serving(options, input: pipe) { vidicon in
            async let playing = self.latencies(of: vidicon.url())
            var count = try await vidicon.status { $0.viewers == 1 }.framesEncoded ?? 0
            var changes: [Int64] = []
            for faces in ["track", "off"] {
              _ = try await vidicon.status { [count] in $0.framesEncoded ?? 0 > count + 60 }
              changes.append(unixMicroseconds())
              let answer = try await Curl.get(
                vidicon.page("/api/streams/live/effects"),
                ["-X", "PUT", "-H", "Content-Type: application/json", "-d", #"{"faces": "\#(faces)"}"#])
              try #require(answer.status == 200, "\(answer.text)")
              changes.append(unixMicroseconds())
              count = try await vidicon.status { faces == "off" || $0.faces == 1 }.framesEncoded ?? 0
            }
            let latencies = try await playing
            // The lower quartile: higher latencies are caused by other load, as is the higher one of before and after.
            func latency(_ times: Range<Int64>) throws -> Double {
              let values = latencies.filter { times.contains($0.arrival) }.map(\.latency).sorted()
              try #require(values.count > 20, "\(values.count) of \(latencies.count)")
              return values[values.count / 4]
            }
            let without = try max(latency(0..<changes[0]), latency(changes[3]..<Int64.max))
            let with = try latency(changes[1]..<changes[2])
            #expect(with - without < 1.0 / 30, "\(without) s without, \(with) s with")
          }
        }
      }
    }

    /// Arrival time of each decoded frame, in microseconds since 1970, and its latency since capture, in seconds.
    private func latencies(of url: String) async throws -> [(arrival: Int64, latency: Double)] {
      try await StripWatch.watch(url, seconds: 9).frames.map { ($0.arrival, $0.latency) }
    }

    @Test func `missing, broken or swapped models end the program with the command that fixes them`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let names = ["face_detection_full_range.tflite", "face_landmark.tflite", "face_landmarks_detector.tflite"]
        let serve = ["serve"] + VidiconProcess.freePorts + ["--source", "plasma"]
        let models = ["VIDICON_MODELS": folder]
        func expectRefusal(_ cause: String) async throws {
          for option in [["--faces", "privacy"], ["--mask", "blur"], ["--smooth", "1"]] {
            try await EndToEndTests.expectRefusal(
              serve + option, environment: models, status: 1, saying: "\(cause)")
          }
        }
        try await expectRefusal("the model does not exist; run scripts/setup")
        for (name, other) in zip(names, names.reversed()) {
          try FileManager.default.copyItem(atPath: "\(TestMedia.modelFolder)/\(other)", toPath: "\(folder)/\(name)")
        }
        try await expectRefusal("not the model that its name says; run scripts/setup")
        for name in names { try Data("not a model".utf8).write(to: URL(filePath: "\(folder)/\(name)")) }
        try await expectRefusal("not a model that this program can run")
        // Other effects work without models.
        try await VidiconProcess.serving(["--source", "plasma", "--clock"], environment: models) { vidicon in
          let status = try await vidicon.status { ($0.effectMilliseconds ?? 0) > 0 }
          #expect(status.faces == 0)
        }
      }
    }
  }
}
