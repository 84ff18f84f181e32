import Foundation
import Testing

extension EndToEnd {
  /// Scenes of faces at known places, recorded in privacy mode and judged by `Benchmarks/privacy.py`, which measures more
  /// frames of them.
  @Suite("Privacy: faces at known places in recorded files")
  struct PrivacyScenes {
    /// Verdict of the judge on a scene.
    struct Scene: Decodable {
      var scene: String
      /// Number of recorded frames, and of labeled faces in them.
      var frames: Int
      var faces: Int
      /// Frame, center and side of each face that is shown: labeled ones, and those that other detectors add.
      var leaks: [[Int]]
      var added: [[Int]]
      /// Number of frames that the other detectors have searched, and of faces that each of them adds.
      var searched: Int
      var addedBy: [String: Int]
      /// Mean part of a frame that is covered.
      var covered: Double
    }

    private static let scenes = [
      "one", "five", "crowd", "upside_down", "sideways", "lying", "profile", "profile_from_the_start",
      "half_out_of_frame", "behind_a_hand",
      "entering_fast", "photo_on_a_phone", "dark", "motion_blurred", "zoom_and_exposure",
      "printed_crowd", "smallest", "large_frame",
    ]

    /// Records and judges scenes; the exit status is that of the judge.
    static func judge(_ scenes: [String], _ options: [String]) async throws -> (run: Tool.Run, scenes: [Scene]) {
      let script = TestMedia.checkout.appendingPathComponent("Benchmarks/privacy.py").path
      let media = URL(filePath: try TestMedia.file("multi_face.jpg")).deletingLastPathComponent().path
      // Debian's Python has Debian's OpenCV.
      let run = try await Tool.run(
        program: "/usr/bin/python3",
        [script, "--program", VidiconProcess.path(), "--media", media, "--json"] + options
          + scenes.flatMap { ["--scene", $0] },
        within: .seconds(420))
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      let results = try run.outputText.split(separator: "\n").map {
        try decoder.decode(Scene.self, from: Data($0.utf8))
      }
      return (run, results)
    }

    @Test(.tags(.demanding)) func `of 600 recorded frames none shows a face of the promised size`() async throws {
      let (run, results) = try await Self.judge(Self.scenes, ["--frames", "648", "--rate", "15", "--every", "30"])
      try #require(results.map(\.scene) == Self.scenes, "\(run.errors)")
      for result in results {
        #expect(result.faces > 10, "\(result)")
        #expect(result.leaks.isEmpty && result.added.isEmpty, "\(result)")
        #expect(result.searched > 0, "\(result)")
      }
      #expect(results.map(\.frames).reduce(0, +) >= 600, "\(results.map(\.frames))")
    }

    @Test(.tags(.timing)) func `at most a tenth of a room without faces is covered`() async throws {
      // Alone, and few frames per second: what a busy machine does not search in time is covered as well.
      let (run, results) = try await Self.judge(["empty_room"], ["--frames", "40", "--rate", "5", "--every", "60"])
      try #require(results.count == 1 && run.exit == .status(0), "\(run.errors)")
      #expect(results[0].covered > 0 && results[0].covered <= 0.1, "\(results)")
    }

    /// Median time that another engine, LiteRT, takes to run the model that searches for faces, in milliseconds.
    private static func modelTime() async throws -> Double {
      let model = "\(TestMedia.modelFolder)/face_detection_full_range.tflite"
      let engine = URL(filePath: try TestMedia.file("multi_face.jpg")).deletingLastPathComponent().path + "/litert"
      let run = try await Tool.run(
        program: "/usr/bin/python3", [TestMedia.client("model_time.py"), engine, model], within: .seconds(60))
      return try #require(Double(run.outputText.trimmingCharacters(in: .whitespacesAndNewlines)), "\(run.errors)")
    }

    @Test(.tags(.timing)) func `a film of one face in 720p holds its 30 frames per second`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let (film, recording) = ("\(folder)/film.mp4", "\(folder)/recording.mp4")
        let clip = ["-stream_loop", "3", "-i", try TestMedia.file("single_face.mp4"), "-an", "-vf", "scale=1280:720"]
        let made = try await Tool.run(
          "ffmpeg", FFmpeg.quiet + clip + ["-c:v", "libx264", "-preset", "ultrafast", film], within: .seconds(30))
        try #require(made.succeeded, "\(made.errors)")
        let modelTime = try await Self.modelTime()
        let options = ["--source", "file:\(film)", "--audio", "none", "--faces", "privacy", "--duration", "9s"]
        let run = try await Tool.run(
          program: try VidiconProcess.path(), ["record", recording] + options, within: .seconds(30))
        try #require(run.succeeded, "\(run.errors)")
        let entries = ["-show_entries", "packet=pts_time", "-of", "csv=p=0"]
        let probe = try await Tool.run("ffprobe", ["-v", "error"] + entries + [recording], within: .seconds(10))
        let count = probe.outputText.split(separator: "\n").count
        // A search that falls behind lowers the frame rate. 270 where a run of the model takes LiteRT 1.9 ms; a machine on which two
        // cores cannot do 30 runs for each frame, with its decoder and encoder, need not record all of them.
        let possible = min(270, 2 * 9_000 / (30 * modelTime))
        report("frames in 9 s, LiteRT \(modelTime) ms", Double(count), limit: -0.9 * possible)
        #expect(Double(count) >= 0.9 * possible, "\(count) frames of \(possible)")
      }
    }

    @Test func `the judge finds the faces of recordings without privacy`() async throws {
      let scenes = ["one", "crowd", "half_out_of_frame", "dark", "upside_down", "sideways"]
      let (run, results) = try await Self.judge(scenes, ["--frames", "32", "--unprotected", "--every", "16"])
      #expect(run.exit == .status(1), "\(run.errors)")
      try #require(results.map(\.scene) == scenes, "\(run.errors)")
      for result in results { #expect(result.faces > 0 && result.leaks.count == result.faces, "\(result)") }
      // The other detectors, which have no labels.
      #expect(results[0].added.count > 0 && results[1].added.count > 20, "\(results.map(\.added.count))")
      // Each of them, in frames that are turned for it.
      for scene in ["upside_down", "sideways"] {
        let added = try #require(results.first { $0.scene == scene }).addedBy
        #expect(Set(added.keys) == ["opencv", "dlib"] && added.values.allSatisfy { $0 > 0 }, "\(scene): \(added)")
      }
      // Share of the frame that the judge takes for covered where nothing is.
      for result in results where result.scene != "dark" { #expect(result.covered < 0.01, "\(result)") }
    }

    @Test(.tags(.demanding)) func `the measurement of privacy fails where its judge finds a face`() async throws {
      _ = try TestMedia.file("multi_face.jpg")
      try await TestMedia.withTemporaryFolder { folder in
        let runner = TestMedia.checkout.appendingPathComponent("Benchmarks/measure.py").path
        let files = ["--program", try VidiconProcess.path(), "--tools", folder, "--video", "none"]
        let scene = ["privacy", "--scenes-only", "--scene", "one", "--frames", "24"]
        for (options, status) in [(["--unprotected"], 1), ([], 0)] {
          let run = try await Tool.run(
            program: "/usr/bin/python3", ["-B", runner] + files + scene + options, within: .seconds(120))
          #expect(run.exit == .status(Int32(status)), "\(run.outputText)\(run.errors)")
          #expect(run.errors.contains("NO: privacy: faces that are shown in ") == (status == 1), "\(run.errors)")
        }
      }
    }
  }
}
