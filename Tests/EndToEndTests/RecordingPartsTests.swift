import FaultyDisk
import Foundation
import Testing

extension EndToEnd {
  @Suite("Recording: parts, formats and buttons")
  struct RecordingParts {
    private struct State: Decodable {
      var state: String
      var duration: Double
      var error: String?
    }

    /// Output of page_record.py.
    private struct Recorded: Decodable {
      var states: [String]
      var labels: [String]
      var isPausedStill: Bool
      var duration: Double
      var width: Int
      var complaints: [String]
    }

    @Test(.tags(.pacing)) func `parts of a size are each within it, and lose no frame`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/out.mp4"
        // 20 to 25 kB a second.
        let options = ["--split-size", "100k", "--duration", "9s"]
        let run = try await VidiconProcess.run(["record", path] + options + RecordedFile.source)
        try #require(run.exit == .status(0), "\(run.errors)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect((2...6).contains(names.count), "\(names)")
        var captures: [Int64?] = []
        for number in 1...max(1, names.count) {
          let part = number == 1 ? path : "\(folder)/out-\(number).mp4"
          let size = try #require(try FileManager.default.attributesOfItem(atPath: part)[.size] as? Int)
          #expect(size <= 100_000, "part \(number)")
          #expect(size > 30_000 || number == names.count, "part \(number)")
          let file = try await RecordedFile(part)
          file.checkThatItPlays()
          captures += file.captures
        }
        #expect(zip(captures.dropFirst(), captures).allSatisfy { abs(($0 ?? 0) - ($1 ?? 0) - 33_333) < 3_000 })
        #expect(abs(captures.count - 270) <= 1)
      }
    }

    @Test(.tags(.pacing))
    func `a recording goes on in the next file where a write finds a file size limit, and loses no frame`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        // 20 to 25 kB a second.
        let disk = FaultyDisk(root: "\(folder)/disk")
        let place = "\(disk.root)/limit-100000-EFBIG"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let run = try await VidiconProcess.run(
          ["record", "\(place)/out.mp4", "--duration", "12s"] + RecordedFile.source, environment: disk.environment(),
          within: .seconds(60))
        try #require(run.exit == .status(0), "\(run.errors)")
        let names = try FileManager.default.contentsOfDirectory(atPath: place)
        let lines = run.errors.split(separator: "\n")
        #expect(names.count > 1 && lines.count { $0.contains("has the maximum size") } == names.count - 1, "\(lines)")
        var captures: [Int64?] = []
        for number in 1...max(1, names.count) {
          let part = number == 1 ? "\(place)/out.mp4" : "\(place)/out-\(number).mp4"
          let size = try #require(try FileManager.default.attributesOfItem(atPath: part)[.size] as? Int)
          #expect(size <= 100_000, "part \(number)")
          let file = try await RecordedFile(part)
          file.checkThatItPlays()
          captures += file.captures
        }
        #expect(zip(captures.dropFirst(), captures).allSatisfy { abs(($0 ?? 0) - ($1 ?? 0) - 33_333) < 3_000 })
        #expect(abs(captures.count - 360) <= 1)
      }
    }

    @Test(.tags(.demanding)) func `the buttons of the page start, pause, resume and stop a recording, which it plays`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let options = ["--source", "bars", "--audio", "tone", "--size", "320x180", "--recordings", folder]
        try await VidiconProcess.serving(options) { vidicon in
          let run = try await Tool.run(
            "python3", [TestMedia.client("page_record.py"), vidicon.page("/live")], within: .seconds(90))
          try #require(run.succeeded, "\(run.errors)")
          let seen = try JSONDecoder().decode(Recorded.self, from: Data(run.output))
          #expect(seen.states == ["recording", "paused", "recording", "idle"])
          #expect(seen.labels == ["Record", "Pause", "Resume", "Stop"])
          #expect(seen.isPausedStill && seen.complaints == [], "\(seen)")
          #expect(seen.width == 320 && seen.duration > 2, "\(seen)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
      }
    }

    @Test func `a small disk ends the recording in time to finish its file, and says so`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let disk = "\(folder)/disk"
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: false)
        let mount = try await Tool.run("mount", ["-t", "tmpfs", "-o", "size=300k", "tmpfs", disk], within: .seconds(5))
        try #require(mount.succeeded, "this test mounts a small disk, which root may: \(mount.errors)")
        let result: Result<Void, any Error>
        do {
          // The default of --keep-free is 5% of a small disk, 15 kB.
          let run = try await VidiconProcess.run(
            ["record", "\(disk)/out.mp4", "--duration", "60s", "--bitrate", "800k"] + RecordedFile.source)
          #expect(run.exit == .status(1))
          let lines = run.errors.split(separator: "\n")
          #expect(lines.contains { $0.contains("the disk is full") && $0.contains("--keep-free") }, "\(lines)")
          #expect(lines.count == 1, "\(lines)")
          #expect(try FileManager.default.contentsOfDirectory(atPath: disk) == ["out.mp4"])
          let file = try await RecordedFile("\(disk)/out.mp4")
          file.checkThatItIsWhole()
          #expect(file.times.count >= 60, "\(file.times.count)")
          let again = try await VidiconProcess.run(["repair", "\(disk)/out.mp4"])
          #expect(again.exit == .status(0) && !FileManager.default.fileExists(atPath: "\(disk)/out.damaged.mp4"))
          result = .success(())
        } catch {
          result = .failure(error)
        }
        #expect(try await Tool.run("umount", ["-l", disk], within: .seconds(5)).succeeded)
        try result.get()
      }
    }
  }
}
