import FaultyDisk
import Foundation
import Media
import TestSupport
import Testing

@testable import Recording

@Suite("Recordings on disks whose calls fail")
struct FaultyDiskTests {
  /// Report of the probe on one recording.
  private struct Outcome {
    var lines: [Substring]

    var isFailed: Bool { self.lines.contains { $0.hasPrefix("failed") } }
    var isRefused: Bool { self.lines.contains { $0.hasPrefix("refused") } }
    var isFinished: Bool { self.lines.contains { $0.hasPrefix("finished") } }
    /// Nil when it did not come to its end.
    var unfinishedCount: Int? {
      self.lines.last.flatMap { $0.hasPrefix("ended") ? Int($0.split(separator: " ")[1]) : nil }
    }
  }

  private static let seconds = 2
  private static let calls = ["write", "copy", "read", "sync", "rename", "truncate", "create"]

  /// Records into folders of a disk, and returns what the probe said of each.
  private func record(_ folders: [String], on disk: FaultyDisk) async throws -> [String: Outcome] {
    for folder in folders {
      try FileManager.default.createDirectory(atPath: "\(disk.root)/\(folder)", withIntermediateDirectories: false)
    }
    let patterns = folders.map { "\(disk.root)/\($0)/out.mp4" }
    let variables = try disk.environment().map { "\($0)=\($1)" }
    let run = try Tools.run(
      "env", variables + [BuiltProgram("RecordingProbe").url.path, "tape", "\(Self.seconds)"] + patterns)
    let lines = run.text.split(separator: "\n")
    var outcomes: [String: Outcome] = [:]
    var current = ""
    for line in lines {
      if line.hasPrefix("start ") {
        current = URL(filePath: String(line.dropFirst(6))).deletingLastPathComponent().lastPathComponent
        outcomes[current] = Outcome(lines: [])
      } else {
        outcomes[current]?.lines.append(line)
      }
    }
    return outcomes
  }

  @Test(arguments: ["", "-copied"], ["EIO", "+-EIO", "+-ENOSPC", "short"])
  func `a call that fails costs nothing that was synchronized, and is reported`(suffix: String, fault: String)
    async throws
  {
    try await withTemporaryFolder { folder in
      let root = "\(folder)/disk"
      try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
      let disk = FaultyDisk(root: root, journalPath: "\(folder)/journal")
      let plain = try await self.record(["plain\(suffix)"], on: disk)
      #expect(plain.values.map(\.lines).map(\.last) == ["ended 0 \(Self.seconds)"], "\(plain)")
      let whole = try self.samples("\(root)/plain\(suffix)/out.mp4")
      var counts = ["copy": suffix.isEmpty ? 0 : 1]
      for call in try disk.journal() {
        if let name = call.faultName { counts[name, default: 0] += 1 }
      }
      var folders: [String] = []
      for name in Self.calls {
        guard name == "read" || name == "write" || name == "copy" || fault != "short" else { continue }
        guard name == "write" || name == "copy" || name == "create" || !fault.contains("ENOSPC") else { continue }
        // A read that fails once, or is short, is repeated: the same for both ways to finish.
        guard name != "read" || fault.hasPrefix("+") || suffix.isEmpty else { continue }
        for number in 1...max(1, counts[name] ?? 0) {
          let separator = fault.hasPrefix("+") ? "" : "-"
          folders.append("\(name)-\(number)\(separator)\(fault)\(suffix.isEmpty ? "" : ".\(suffix)")")
        }
      }
      let outcomes = try await self.record(folders, on: disk)
      let promised = try disk.synchronizedSamples()
      for name in folders {
        try await self.check(
          "\(root)/\(name)", outcomes[name], promised: promised[name] ?? 0, whole: whole,
          isHarmless: fault == "short" || name.hasPrefix("read") && fault == "EIO")
      }
      // The check of the samples is not an empty one.
      let judged = folders.count { promised[$0] ?? 0 > 0 }
      #expect(judged * 2 > folders.count, "\(judged) of \(folders)")
    }
  }

  private func samples(_ path: String) throws -> RecordedSamples? {
    RecordedSamples([UInt8](try Data(contentsOf: URL(filePath: path))))
  }

  private func check(
    _ folder: String, _ outcome: Outcome?, promised: Int, whole: RecordedSamples?, isHarmless: Bool
  ) async throws {
    let name = URL(filePath: folder).lastPathComponent
    guard let outcome else {
      Issue.record("\(name): the recorder ended")
      return
    }
    if outcome.isRefused {
      #expect(!isHarmless, "\(name)")
      #expect(promised == 0 && names(in: folder).filter { !$0.hasPrefix(".") } == [], "\(name): \(names(in: folder))")
      return
    }
    let unfinished = try #require(outcome.unfinishedCount, "\(name): \(outcome.lines)")
    let path = "\(folder)/out.mp4"
    let left = (try? self.samples(path)) ?? nil
    #expect(
      outcome.isFinished == (left?.isFinished ?? false) || outcome.isFailed || unfinished > 0,
      "\(name): \(outcome.lines), \(String(describing: left))")
    if isHarmless {
      #expect(outcome.isFinished && left == whole && unfinished == 0 && !outcome.isFailed, "\(name): \(outcome.lines)")
    }
    #expect(left?.count ?? 0 >= promised, "\(name): \(left?.count ?? -1) of \(promised)")
    // With a working disk again.
    let results = await Recordings.repairAll(in: folder)
    #expect(results.allSatisfy { if case .failed = $0 { false } else { true } }, "\(name): \(results)")
    guard promised > 0 else { return }
    let repaired = try self.samples(path)
    #expect(repaired?.isFinished == true && repaired?.count ?? 0 >= promised, "\(name): \(promised)")
    if !outcome.isFailed { #expect(repaired == whole, "\(name)") }
    #expect(names(in: folder) == ["out.mp4"], "\(name)")
    #expect(Recordings.list(matching: try FilePattern(path)).first?.identity?.stream == "live", "\(name)")
  }

  /// Runs the probe on a disk.
  private func probe(_ arguments: [String], on disk: FaultyDisk) throws -> String {
    let variables = try disk.environment().map { "\($0)=\($1)" }
    return try Tools.run("env", variables + [BuiltProgram("RecordingProbe").url.path] + arguments).text
  }

  @Test(arguments: ["ENOLCK", "EOPNOTSUPP", "EIO"])
  func
    `without locks, as on some network disks, files are recorded and repaired, but none that may be in use is touched`(
      fault: String
    ) async throws
  {
    try await withTemporaryFolder { folder in
      let root = "\(folder)/disk"
      let disk = FaultyDisk(root: root)
      let names = ["lock-1+-\(fault)", "lock-1+-\(fault).-overwritten"].map { "\(root)/\($0)" }
      for name in names { try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: true) }
      for name in names {
        let path = "\(name)/out.mp4"
        #expect(try self.probe(["tape", "1", path], on: disk).contains("ended 0 1"))
        #expect(try self.samples(path)?.isFinished == true)
      }
      // A finished file is in use by no recorder, and is overwritten.
      #expect(try self.probe(["tape", "1", "\(names[1])/out.mp4"], on: disk).contains("ended 0 1"))
      #expect(Recording.Folder.names(in: names[1]) == ["out.mp4"])
      // Unfinished, as if another machine recorded it.
      let unfinished = try await self.unfinishedFile()
      for name in names { try unfinished.write(to: URL(filePath: "\(name)/out.mp4")) }
      let overwriting = try self.probe(["tape", "1", "\(names[1])/out.mp4"], on: disk)
      #expect(overwriting.contains("refused busy"), "\(overwriting)")
      #expect(try Data(contentsOf: URL(filePath: "\(names[1])/out.mp4")) == unfinished)
      // At rest since an hour.
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      time.tv_sec -= 3600
      for name in names {
        let result = utimensat(AT_FDCWD, "\(name)/out.mp4", [time, time], 0)
        #expect(result == 0)
      }
      // A recording under another name leaves the file alone, also one that would repair what a crash left.
      let recording = try self.probe(["tape", "1", "\(names[0])/out.mp4"], on: disk)
      #expect(recording.contains("finished \(names[0])/out-2.mp4"), "\(recording)")
      #expect(try Data(contentsOf: URL(filePath: "\(names[0])/out.mp4")) == unfinished)
      let lines = try self.probe(["repair", "\(names[0])/out.mp4"], on: disk)
      #expect(lines.contains("repaired"), "\(lines)")
      #expect(try self.samples("\(names[0])/out.mp4")?.isFinished == true)
      #expect(try self.probe(["tape", "1", "\(names[1])/out.mp4"], on: disk).contains("ended 0 1"))
      #expect(try self.samples("\(names[1])/out.mp4")?.isFinished == true)
    }
  }

  @Test func `a file is at rest a minute after the last write, by the clock of its disk, which may be set back`() {
    let second: Int64 = 1_000_000_000
    for (age, isAtRest) in [(0, false), (59, false), (60, true), (3600, true), (-59, false), (-60, true)] {
      let now = 1_800_000_000 * second
      #expect(FileActivity.isAtRest(modificationTime: now - Int64(age) * second, now: now) == isAtRest, "\(age)")
    }
    #expect(FileActivity.isAtRest(modificationTime: .min, now: .max))
  }

  // Disks without fsync(2), those that have it for files only or refuse sendfile(2), and SMB servers that do not replace a file
  // that is open.
  @Test(arguments: [
    "sync-1+-EINVAL", "sync-1+-EOPNOTSUPP", "copy-1+-EOPNOTSUPP.-copied", "rename-1+-EACCES.-copied",
    "rename-1+-EBUSY.-copied",
  ])
  func `a disk that lacks a call gets the same finished file as any other`(name: String) async throws {
    try await withTemporaryFolder { folder in
      let disk = FaultyDisk(root: "\(folder)/disk")
      for name in ["plain", name] {
        try FileManager.default.createDirectory(atPath: "\(disk.root)/\(name)", withIntermediateDirectories: true)
        #expect(try self.probe(["tape", "2", "\(disk.root)/\(name)/out.mp4"], on: disk).contains("ended 0 2"))
        #expect(names(in: "\(disk.root)/\(name)") == ["out.mp4"])
      }
      let samples = try self.samples("\(disk.root)/\(name)/out.mp4")
      #expect(try samples?.isFinished == true && samples == self.samples("\(disk.root)/plain/out.mp4"))
    }
  }

  @Test func `a disk that becomes read-only ends the recording, whose file plays and is finished later`() async throws {
    try await withTemporaryFolder { folder in
      let disk = FaultyDisk(root: "\(folder)/disk")
      // After the head and two fragments; nothing can be created, truncated or renamed either.
      let name = "write-4+-EROFS,truncate-1+-EROFS,create-2+-EROFS,rename-1+-EROFS"
      let path = "\(disk.root)/\(name)/out.mp4"
      try FileManager.default.createDirectory(atPath: "\(disk.root)/\(name)", withIntermediateDirectories: true)
      let lines = try self.probe(["tape", "5", path], on: disk)
      #expect(lines.contains("failed notPermitted") && lines.contains("ended 1 "), "\(lines)")
      let left = try #require(try self.samples(path))
      #expect(!left.isFinished && left.count >= 2 * (30 + 43), "\(left)")
      #expect(try self.probe(["repair", path], on: disk).contains("refused"))
      #expect(names(in: "\(disk.root)/\(name)") == ["out.mp4"])
      guard case .finished(let finished) = try await Recordings.repair(path) else {
        Issue.record("not finished")
        return
      }
      #expect(finished.duration.seconds.rounded() == 2 && finished.lostByteCount == 0)
    }
  }

  @Test(arguments: ["EINVAL", "EILSEQ"])
  func `a name that the disk does not accept, as with a colon on FAT, starts no recording`(fault: String) async throws {
    try await withTemporaryFolder { folder in
      let disk = FaultyDisk(root: "\(folder)/disk")
      let name = "create-1+-\(fault)"
      try FileManager.default.createDirectory(atPath: "\(disk.root)/\(name)", withIntermediateDirectories: true)
      let lines = try self.probe(["tape", "2", "\(disk.root)/\(name)/out.mp4"], on: disk)
      #expect(lines.contains("refused invalidSpecification"), "\(lines)")
      #expect(names(in: "\(disk.root)/\(name)") == [])
    }
    let error = VidiconError(errno: fault == "EINVAL" ? EINVAL : EILSEQ, path: "a:b.mp4", isNewName: true)
    #expect(error.description.contains("leave characters such as : ? * < > | out of it"))
  }

  @Test(arguments: ["EPERM", "EOPNOTSUPP"])
  func `without hard links, as on FAT, a damaged file is repaired, and the original is kept`(fault: String) async throws
  {
    try await withTemporaryFolder { folder in
      let root = "\(folder)/disk"
      let disk = FaultyDisk(root: root)
      var damaged = try await self.unfinishedFile()
      damaged[try #require(damaged.range(of: Data("moof".utf8))).lowerBound] ^= 0xFF
      // The name of the original is free, or another file has it.
      for isTaken in [false, true] {
        let name = "\(root)/link-1+-\(fault).\(isTaken)"
        try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: true)
        try damaged.write(to: URL(filePath: "\(name)/out.mp4"))
        if isTaken { try Data("another".utf8).write(to: URL(filePath: "\(name)/out.damaged.mp4")) }
        let lines = try self.probe(["repair", "\(name)/out.mp4"], on: disk)
        #expect(lines.contains("repaired"), "\(lines)")
        #expect(try self.samples("\(name)/out.mp4")?.isFinished == true)
        let original = isTaken ? "out.damaged-2.mp4" : "out.damaged.mp4"
        #expect(Set(names(in: name)) == ["out.mp4", "out.damaged.mp4", original])
        #expect(try Data(contentsOf: URL(filePath: "\(name)/\(original)")) == damaged)
        if isTaken { #expect(try Data(contentsOf: URL(filePath: "\(name)/out.damaged.mp4")) == Data("another".utf8)) }
      }
      // The last rename fails: the file keeps its name.
      let name = "\(root)/rename-1-EIO"
      try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: true)
      try damaged.write(to: URL(filePath: "\(name)/out.mp4"))
      #expect(try self.probe(["repair", "\(name)/out.mp4"], on: disk).contains("refused"))
      #expect(try Data(contentsOf: URL(filePath: "\(name)/out.mp4")) == damaged)
    }
  }

  /// A recording of two seconds that was not stopped.
  private func unfinishedFile() async throws -> Data {
    try await withTemporaryFolder { folder in
      let script = StreamScript()
      let path = "\(folder)/out.mp4"
      let test = TestRecorder(RecordingSettings(try FilePattern(path)), descriptions: script.descriptions)
      _ = try await test.recorder.start(at: StreamScript.start)
      test.feed(script.samples(from: StreamScript.start, to: TimelineRun.time(2)).map(\.sample))
      try test.recorder.pause(at: TimelineRun.time(2))
      try await eventually { test.recorder.status.state == .paused }
      let bytes = try Data(contentsOf: URL(filePath: path))
      await test.recorder.stop()
      return bytes
    }
  }

  @Test func `a SIGKILL in any write, synchronization or rename costs nothing that was synchronized`() async throws {
    try await withTemporaryFolder { folder in
      let root = "\(folder)/disk"
      try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
      let (count, judged) = try await withThrowingTaskGroup(of: Bool.self) { group in
        for suffix in ["", ".-copied"] {
          for (call, count) in [("write", 6), ("sync", 8), ("rename", suffix.isEmpty ? 0 : 1), ("copy", 1)] {
            for number in 1..<count + 1 {
              group.addTask {
                let name = "\(call)-\(number)-kill\(suffix)"
                let disk = FaultyDisk(root: root, journalPath: "\(folder)/\(name).journal")
                _ = try await self.record([name], on: disk)
                let promised = try disk.synchronizedSamples()[name] ?? 0
                _ = await Recordings.repairAll(in: "\(root)/\(name)")
                let left = names(in: "\(root)/\(name)")
                #expect(left == ["out.mp4"] || left == [] && promised == 0, "\(name): \(left)")
                guard promised > 0 else { return false }
                let samples = try self.samples("\(root)/\(name)/out.mp4")
                #expect(samples?.isFinished == true && samples?.count ?? 0 >= promised, "\(name)")
                return true
              }
            }
          }
        }
        return try await group.reduce(into: (0, 0)) { sums, isJudged in
          sums.0 += 1
          sums.1 += isJudged ? 1 : 0
        }
      }
      // The check of the samples is not an empty one.
      #expect(judged * 2 > count, "\(judged) of \(count)")
    }
  }
}
