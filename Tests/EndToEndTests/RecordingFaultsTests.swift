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
            "ffmpeg", FFmpeg.quiet + ["-t", "\(max(0.1, (times.last ?? 0) - 2))", "-i", file] + FFmpeg.decoding,
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
        let disk = FaultyDisk(root: "\(folder)/disk", journalPath: "\(folder)/journal")
        let (exit, lines) = try await Self.record(fault, on: disk)
        #expect(exit == .status(1), "\(lines)")
        #expect(lines.contains { $0.contains(cause) } && lines.count <= 2, "\(lines)")
        #expect(lines.allSatisfy { $0.utf8.count < 400 })
        let path = "\(disk.root)/\(fault)/out.mp4"
        guard fault != "write-1-ENOSPC" else {
          #expect(try FileManager.default.contentsOfDirectory(atPath: "\(disk.root)/\(fault)") == [])
          return
        }
        let promised = try disk.synchronizedSamples()[fault] ?? 0
        #expect(promised > 20, "\(promised)")
        try await Self.expect(promised, in: "\(disk.root)/\(fault)", fault)
        let times = try await FFmpeg.times(ofVideoIn: path)
        let duration = (times.last ?? 0) - (times.first ?? 0)
        #expect(duration > (cause == "is not finished" ? 2.8 : 0.8), "\(duration) s")
      }
    }

    private struct State: Decodable { var duration: Double }

    /// The calls of a recording of three seconds, by their names in faults.
    private static func calls(in folder: String) async throws -> [String: Int] {
      let disk = FaultyDisk(root: "\(folder)/plain", journalPath: "\(folder)/plain.journal")
      let (exit, lines) = try await Self.record("none", on: disk)
      try #require(exit == .status(0) && lines.isEmpty, "\(lines)")
      // Copies are writes of another kind, in the journal too.
      return try disk.journal().compactMap(\.faultName).reduce(into: ["copy": 1]) { $0[$1, default: 0] += 1 }
    }

    /// Whether a file has the samples that were synchronized, and is a finished one after a repair.
    private static func expect(_ count: Int, in folder: String, _ fault: String) async throws {
      let path = "\(folder)/out.mp4"
      guard FileManager.default.fileExists(atPath: path) else {
        #expect(count == 0, "\(fault): no file, \(count) samples")
        return
      }
      func samples() throws -> RecordedSamples? { try RecordedSamples([UInt8](Data(contentsOf: URL(filePath: path)))) }
      #expect(try samples()?.count ?? 0 >= count, "\(fault)")
      let repair = try await VidiconProcess.run(["repair", path])
      guard count > 0 else { return }
      #expect(repair.exit == .status(0), "\(fault): \(repair.errors)")
      let repaired = try samples()
      #expect(repaired?.isFinished == true && repaired?.count ?? 0 >= count, "\(fault): \(count)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["out.mp4"], "\(fault)")
    }

    /// Records a stream for each fault, all in one program, until each has had its effect.
    private static func record(_ faults: [String], on disk: FaultyDisk) async throws {
      // A recording makes each of these calls sooner or later, and cannot go on without it.
      let fatal = faults.filter { $0.hasSuffix("EIO") && ($0.hasPrefix("write") || $0.hasPrefix("sync-3")) }
      let streams = faults.flatMap { ["--stream", "name=\($0)"] }
      let options = ["--source", "bars", "--audio", "tone", "--size", "64x48", "--fps", "10", "--rendition", "none"]
      try await VidiconProcess.serving(
        options + streams + ["--record", "\(disk.root)/{name}/out.mp4"], environment: disk.environment()
      ) { vidicon in
        // A short read or write is repeated.
        for fault in faults where fault.hasSuffix("short") {
          let address = vidicon.page("/api/streams/\(fault)/recording")
          try await waitUntil { try await Curl.get(address).json(State.self).duration >= 3 }
        }
        for fault in fatal {
          _ = try await vidicon.status(of: fault) { _ in vidicon.child.errors.text.contains("\(fault):") }
        }
        vidicon.child.signal(SIGINT)
        let exit = await vidicon.child.end(within: .seconds(60))
        await vidicon.child.errors.end()
        #expect(exit == .status(1), "\(vidicon.child.errors.text)")
        let lines = vidicon.child.errors.text.split(separator: "\n")
        for fault in faults where fault.hasPrefix("write") && fault.hasSuffix("short") {
          #expect(!lines.contains { $0.contains("\(fault):") }, "\(fault): \(lines)")
        }
      }
    }

    @Test(.tags(.demanding)) func `whichever call of the program fails, what was synchronized is kept, and it says so`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let calls = try await Self.calls(in: folder)
        #expect(["create", "write", "sync", "rename", "read"].allSatisfy { calls[$0] ?? 0 > 0 }, "\(calls)")
        let faults = calls.flatMap { name, count in
          (1...count).flatMap { number in
            ["\(name)-\(number)-EIO"] + (name == "write" || name == "read" ? ["\(name)-\(number)-short"] : [])
          }
        }
        let disk = FaultyDisk(root: "\(folder)/disk", journalPath: "\(folder)/journal")
        for fault in faults {
          try FileManager.default.createDirectory(atPath: "\(disk.root)/\(fault)", withIntermediateDirectories: true)
        }
        // A program with a hundred encoders takes a minute to start.
        for half in 0..<2 {
          try await Self.record(faults.indices.filter { $0 % 2 == half }.map { faults[$0] }, on: disk)
        }
        let promised = try disk.synchronizedSamples()
        #expect(promised.values.count { $0 > 40 } > faults.count / 2, "\(promised)")
        for fault in faults { try await Self.expect(promised[fault] ?? 0, in: "\(disk.root)/\(fault)", fault) }
      }
    }

    @Test(.tags(.demanding)) func `in whichever call the program is killed, what was synchronized is kept`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let calls = try await Self.calls(in: folder)
        let faults = ["write", "sync", "rename", "copy"].flatMap { name in
          (1...max(1, calls[name] ?? 1)).map { "\(name)-\($0)-kill" }
        }
        try await withThrowingTaskGroup(of: Bool.self) { group in
          for fault in faults {
            group.addTask {
              let disk = FaultyDisk(root: "\(folder)/disk", journalPath: "\(folder)/\(fault).journal")
              let (exit, lines) = try await Self.record(fault, on: disk)
              let isKilled = exit == .signal(SIGKILL)
              #expect(isKilled || exit == .status(0), "\(fault): \(lines)")
              let promised = try disk.synchronizedSamples()[fault] ?? 0
              try await Self.expect(promised, in: "\(disk.root)/\(fault)", fault)
              return isKilled
            }
          }
          var killed = 0
          for try await isKilled in group where isKilled { killed += 1 }
          #expect(killed * 4 > faults.count * 3, "\(killed) of \(faults.count)")
        }
      }
    }

    @Test func `a viewer that seeks opens one file per request, however many there are`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let recordings = "\(folder)/disk/recordings"
        try FileManager.default.createDirectory(atPath: recordings, withIntermediateDirectories: true)
        let pattern = "\(recordings)/{name}.mp4"
        let options = Self.source + ["--record", pattern]
        try await VidiconProcess.serving(options) { vidicon in
          try await waitUntil {
            try await Curl.get(vidicon.page("/api/streams/live/recording")).json(State.self).duration >= 1
          }
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
          try await waitUntil { try await Curl.get(vidicon.page("/api/recordings")).json(Files.self).total >= 201 }
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
