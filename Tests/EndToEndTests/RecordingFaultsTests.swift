import FaultyDisk
import Foundation
import Testing

extension EndToEnd {
  @Suite("Recording: power losses, and calls that fail")
  struct RecordingFaults {
    private static let source = ["--source", "bars", "--audio", "tone", "--size", "320x180", "--fps", "30"]

    @Test(.tags(.pacing)) func `half a minute plays up to the last synchronized fragment, whatever call is the last`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let root = "\(folder)/disk"
        try FileManager.default.createDirectory(atPath: "\(root)/plain", withIntermediateDirectories: true)
        let disk = FaultyDisk(root: root, journalPath: "\(folder)/journal")
        let path = "\(root)/plain/out.mp4"
        let run = try await VidiconProcess.run(
          ["record", path, "--duration", "30s"] + Self.source, environment: disk.environment(), within: .seconds(60))
        #expect(run.exit == .status(0) && run.errors == "", "\(run.errors)")
        var judge = InterruptionJudge(path: path)
        for call in try disk.journal() { judge.perform(call) }
        judge.end()
        #expect(judge.losses.prefix(5) == [])
        #expect(judge.promised > 29 * (30 + 46) && judge.cutCount > 500, "\(judge.promised), \(judge.cutCount)")
        for (index, sample) in judge.samples.enumerated() where index % 3 == 0 && sample.promised > 0 {
          let file = "\(folder)/cut-\(index).mp4"
          try Data(sample.image[path] ?? []).write(to: URL(fileURLWithPath: file))
          let times = try await FFmpeg.times(ofVideoIn: file)
          // 30 video frames and 47 audio frames a second.
          #expect(times.count >= sample.promised * 30 / 77 - 3, "\(times.count) frames of \(sample.promised) samples")
          let decoded = try await Tool.run(
            "ffmpeg", FFmpeg.quiet + ["-t", "\(max(0.1, (times.last ?? 0) - 2))", "-i", file, "-f", "null", "-"],
            within: .seconds(30))
          #expect(decoded.succeeded && decoded.errors == "", "\(decoded.errors)")
        }
      }
    }

    /// Records three seconds to a disk with a fault, and returns the exit and the lines of standard error.
    private static func record(_ fault: String, on disk: FaultyDisk) async throws -> (
      exit: ChildProcess.Exit?, lines: [Substring]
    ) {
      try FileManager.default.createDirectory(atPath: "\(disk.root)/\(fault)", withIntermediateDirectories: true)
      let run = try await VidiconProcess.run(
        ["record", "\(disk.root)/\(fault)/out.mp4", "--duration", "3s"] + Self.source,
        environment: disk.environment(), within: .seconds(40))
      return (run.exit, run.errors.split(separator: "\n"))
    }

    @Test(
      .tags(.demanding),
      arguments: [
        ("write-3+-EIO", "the recording has stopped"), ("write-1-ENOSPC", "the disk is full"),
        ("sync-5-EIO", "the recording has stopped"), ("copy-1-EIO", "is not finished"),
        ("rename-1-EIO", "is not finished"), ("read-4+-EIO", "is not finished"),
      ])
    func `a failed call is reported in the exit status and in a line, and a repair makes up for it`(
      fault: String, cause: String
    ) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let disk = FaultyDisk(root: "\(folder)/disk")
        let (exit, lines) = try await Self.record(fault, on: disk)
        #expect(exit == .status(1), "\(lines)")
        #expect(lines.contains { $0.contains(cause) } && lines.count <= 2, "\(lines)")
        #expect(lines.allSatisfy { $0.utf8.count < 400 })
        let path = "\(disk.root)/\(fault)/out.mp4"
        guard fault != "write-1-ENOSPC" else {
          #expect(try FileManager.default.contentsOfDirectory(atPath: "\(disk.root)/\(fault)") == [])
          return
        }
        let repair = try await VidiconProcess.run(["repair", path])
        #expect(repair.exit == .status(0), "\(repair.errors)")
        let count = try await FFmpeg.times(ofVideoIn: path).count
        #expect(count >= (cause == "is not finished" ? 85 : 25), "\(count)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(disk.root)/\(fault)") == ["out.mp4"])
      }
    }

    @Test func `a viewer that seeks opens one file per request, however many there are`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let recordings = "\(folder)/disk/recordings"
        try FileManager.default.createDirectory(atPath: recordings, withIntermediateDirectories: true)
        let pattern = "\(recordings)/{name}.mp4"
        let options = Self.source + ["--record", pattern]
        try await VidiconProcess.serving(options) { vidicon in
          struct State: Decodable { var duration: Double }
          while try await Curl.get(vidicon.page("/api/streams/live/recording")).json(State.self).duration < 1 {}
        }
        for number in 2...200 {
          try FileManager.default.copyItem(atPath: "\(recordings)/live.mp4", toPath: "\(recordings)/live-\(number).mp4")
        }
        struct Files: Decodable { var total: Int }
        let disk = FaultyDisk(root: "\(folder)/disk", journalPath: "\(folder)/journal")
        func opened() throws -> Int {
          try disk.journal().count { $0.kind == .open && $0.path.hasSuffix(".mp4") }
        }
        // --recordings names the folder of a recorder that does not run: nothing else opens files.
        try await VidiconProcess.serving(options, environment: disk.environment()) { vidicon in
          while try await Curl.get(vidicon.page("/api/recordings")).json(Files.self).total < 201 {}
          let begin = try opened()
          for _ in 0..<3 {
            #expect(try await Curl.get(vidicon.page("/api/recordings")).json(Files.self).total == 201)
          }
          // The file that is being recorded is looked at again.
          #expect(try opened() - begin <= 3, "a list opens no file that has not changed")
          let before = try opened()
          for number in 2...41 {
            let part = try await Curl.get(
              vidicon.page("/recordings/live/live-\(number).mp4"), ["--range", "100-199", "--output", "\(folder)/part"])
            #expect(part.status == 206)
          }
          #expect(try opened() - before == 40)
        }
      }
    }
  }
}
