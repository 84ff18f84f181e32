import Foundation
import Testing

extension EndToEnd {
  /// Scenes of faces at known places, recorded in privacy mode and judged by `Benchmarks/privacy.py`, which measures more
  /// frames of them.
  @Suite("Privacy: faces at known places in recorded files")
  struct PrivacyScenes {
    /// What the judge says of a scene.
    private struct Scene: Decodable {
      var scene: String
      /// Number of recorded frames, and of labeled faces in them.
      var frames: Int
      var faces: Int
      /// Frame, center and side of each face that is shown: labeled ones, and those that other detectors add.
      var leaks: [[Int]]
      var added: [[Int]]
      /// Mean part of a frame that is covered.
      var covered: Double
    }

    private static let scenes = [
      "one", "five", "crowd", "upside_down", "sideways", "lying", "profile", "half_out_of_frame", "behind_a_hand",
      "entering_fast", "photo_on_a_phone", "dark", "motion_blurred", "zoom_and_exposure",
      "printed_crowd",
    ]

    /// Records and judges scenes; the exit status is that of the judge.
    private static func judge(_ scenes: [String], _ options: [String]) async throws -> (run: Tool.Run, scenes: [Scene])
    {
      let script = TestMedia.checkout.appendingPathComponent("Benchmarks/privacy.py").path
      let media = URL(filePath: try TestMedia.file("multi_face.jpg")).deletingLastPathComponent().path
      // Debian's Python has Debian's OpenCV.
      let run = try await Tool.run(
        program: "/usr/bin/python3",
        [script, "--program", VidiconProcess.path(), "--media", media, "--json"] + options
          + scenes.flatMap { ["--scene", $0] },
        within: .seconds(240))
      let results = try run.outputText.split(separator: "\n").map {
        try JSONDecoder().decode(Scene.self, from: Data($0.utf8))
      }
      return (run, results)
    }

    @Test(.tags(.demanding)) func `of 600 recorded frames none shows a face of the promised size`() async throws {
      let (run, results) = try await Self.judge(Self.scenes, ["--frames", "602", "--rate", "15", "--every", "40"])
      try #require(results.map(\.scene) == Self.scenes, "\(run.errors)")
      for result in results {
        #expect(result.faces > 10, "\(result)")
        #expect(result.leaks.isEmpty && result.added.isEmpty, "\(result)")
      }
      #expect(results.map(\.frames).reduce(0, +) >= 600, "\(results.map(\.frames))")
    }

    @Test(.tags(.demanding)) func `at most a tenth of a room without faces is covered`() async throws {
      // Few frames per second: what a busy machine does not search in time is covered as well.
      let (run, results) = try await Self.judge(["empty_room"], ["--frames", "40", "--rate", "5", "--every", "60"])
      try #require(results.count == 1 && run.exit == .status(0), "\(run.errors)")
      #expect(results[0].covered > 0 && results[0].covered <= 0.1, "\(results)")
    }

    @Test func `the judge finds the faces of recordings without privacy`() async throws {
      let scenes = ["one", "crowd", "half_out_of_frame", "dark"]
      let (run, results) = try await Self.judge(scenes, ["--frames", "32", "--unprotected", "--every", "8"])
      #expect(run.exit == .status(1), "\(run.errors)")
      try #require(results.map(\.scene) == scenes, "\(run.errors)")
      for result in results { #expect(result.faces > 0 && result.leaks.count == result.faces, "\(result)") }
      #expect(results[0].added.count > 0)
      // What the judge takes for covered where nothing is.
      for result in results where result.scene != "dark" { #expect(result.covered < 0.01, "\(result)") }
    }
  }
}
