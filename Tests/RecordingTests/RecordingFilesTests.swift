import Foundation
import Media
import Testing
import Threading

@testable import Recording

@Suite("Recorded files: taken names, failing disks, retention", .timeLimit(.minutes(10)))
struct RecordingFilesTests {
  private let script = StreamScript(keyframeDistance: 30)

  /// Records for some seconds.
  private func record(
    _ settings: RecordingSettings, seconds: Int64 = 3, clock: @escaping @Sendable () -> Int64 = { 0 }
  ) async throws -> [FinishedRecording] {
    let test = TestRecorder(settings, descriptions: self.script.descriptions, clock: clock)
    _ = try await test.recorder.start(at: StreamScript.start)
    let end = StreamScript.start + .seconds(seconds)
    test.feed(
      self.script.samples(from: StreamScript.start, to: end + .milliseconds(200)).map(\.sample).filter {
        $0.presentationTime < end
      })
    return await test.recorder.stop(at: end)
  }

  private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  @Test func `an existing file is kept and the next free number is taken`() async throws {
    try await withTemporaryFolder { folder in
      for name in ["out.mp4", "out-2.mp4"] {
        try "mine".write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
      }
      let files = try await self.record(RecordingSettings(FilePattern("\(folder)/out.mp4")))
      #expect(files.map(\.path) == ["\(folder)/out-3.mp4"])
      #expect(try self.text("\(folder)/out.mp4") == "mine")
      #expect(try self.text("\(folder)/out-2.mp4") == "mine")
    }
  }

  @Test func `a lock ends with its owner, also while a starting child process has a copy of the descriptor`()
    async throws
  {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      var owner: Recording.FileDescriptor? = try Recording.FileDescriptor(path, O_RDWR | O_CREAT)
      #expect(owner?.lock() == .acquired)
      // A copy as a child process has it between fork and exec: the same open file.
      let copy = try dup(#require(owner?.number))
      defer { close(copy) }
      let other = try Recording.FileDescriptor(path, O_RDWR)
      #expect(other.lock() == .taken)
      owner = nil
      #expect(other.lock() == .acquired)
    }
  }

  @Test func `existing files are refused or overwritten on request, but never the recording's own parts`() async throws
  {
    try await withTemporaryFolder { folder in
      try "mine".write(toFile: "\(folder)/out.mp4", atomically: false, encoding: .utf8)
      let pattern = try FilePattern("\(folder)/out.mp4")
      let error = await #expect(throws: VidiconError.self) {
        try await self.record(RecordingSettings(pattern, existingFiles: .refuse))
      }
      #expect(error?.code == .alreadyExists)
      #expect(try self.text("\(folder)/out.mp4") == "mine")
      let files = try await self.record(
        RecordingSettings(pattern, existingFiles: .overwrite, partDuration: .seconds(1)), seconds: 4)
      #expect(files.map(\.path) == ["out.mp4", "out-2.mp4", "out-3.mp4", "out-4.mp4"].map { "\(folder)/\($0)" })
      #expect(files.allSatisfy { $0.duration > .milliseconds(900) })
    }
  }

  @Test(arguments: [
    ("missing/out.mp4", VidiconError.Code.notFound),
    (String(repeating: "x", count: 300) + ".mp4", .invalidSpecification),
    ("folder", .alreadyExists), ("file/out.mp4", .notFound),
  ])
  func `an invalid name is refused in one line and leaves no file`(
    name: String, code: VidiconError.Code
  ) async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: "\(folder)/folder", withIntermediateDirectories: false)
      try "mine".write(toFile: "\(folder)/file", atomically: false, encoding: .utf8)
      let error = await #expect(throws: VidiconError.self) {
        try await self.record(RecordingSettings(FilePattern("\(folder)/\(name)"), existingFiles: .refuse))
      }
      #expect(error?.code == code)
      #expect(error?.description.contains("\n") == false)
      #expect((error?.description.count ?? 0) < 400)
      #expect(names(in: folder) == ["file", "folder"])
    }
  }

  @Test func `a stream that is not running cannot be recorded, and a recorder records once at a time`() async throws {
    try await withTemporaryFolder { folder in
      let settings = RecordingSettings(try FilePattern("\(folder)/out.mp4"))
      let idle = TestRecorder(settings, descriptions: [])
      #expect(await #expect(throws: VidiconError.self) { try await idle.recorder.start() }?.code == .wrongState)
      #expect(throws: VidiconError.self) { try idle.recorder.pause() }
      let test = TestRecorder(settings, descriptions: self.script.descriptions)
      try await test.recorder.start()
      #expect(await #expect(throws: VidiconError.self) { try await test.recorder.start() }?.code == .wrongState)
      await test.recorder.stop()
      #expect(names(in: folder) == [])
    }
  }

  @Test(arguments: ["file", "folder"])
  func `removing the file or folder of a recording stops it with an event`(what: String) async throws {
    try await withTemporaryFolder { folder in
      let inner = "\(folder)/inner"
      try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
      let test = TestRecorder(
        RecordingSettings(try FilePattern("\(inner)/out.mp4")), descriptions: self.script.descriptions)
      _ = try await test.recorder.start(at: StreamScript.start)
      try FileManager.default.removeItem(atPath: what == "file" ? "\(inner)/out.mp4" : inner)
      test.feed(self.script.samples(from: StreamScript.start, to: StreamScript.start + .seconds(3)).map(\.sample))
      #expect(await test.recorder.waitUntilEnd().isEmpty)
      let status = test.recorder.status
      #expect(status.state == .failed)
      #expect(status.error?.code == .notFound)
      #expect(!test.isAttached)
      var failures = 0
      for await event in test.recorder.events {
        if case .failed = event { failures += 1 }
        if event == .ended { break }
      }
      #expect(failures == 1)
    }
  }

  @Test(arguments: [(10_413_792_000, Int64.max), (9_000_000_000, 9_000_000_000_000_000_000)])
  func `files with a time of modification in the year 2300 are listed and kept`(
    seconds: Int, nanoseconds: Int64
  ) async throws {
    try await withTemporaryFolder { folder in
      let pattern = try FilePattern("\(folder)/out.mp4")
      _ = try await self.record(RecordingSettings(pattern))
      let times = [timespec](repeating: timespec(tv_sec: seconds, tv_nsec: 0), count: 2)
      try #require(utimensat(AT_FDCWD, "\(folder)/out.mp4", times, 0) == 0)
      let files = Recordings.list(matching: pattern)
      #expect(files.map(\.modificationTime) == [nanoseconds])
      let plan = RetentionPlan(
        rule: .init(age: .seconds(3600)), owner: try #require(files.first?.identity), now: 1_800_000_000_000_000_000)
      #expect(plan.removals(from: files) == [])
    }
  }

  @Test(arguments: [
    (Int64.min, true), (.max, false), (1_800_000_000_000_000_000, false), (1_799_996_400_000_000_000, false),
    (1_799_996_399_999_999_999, true),
  ])
  func `a file is old by its time of modification, whatever that is`(modificationTime: Int64, isOld: Bool) {
    let rule = RecordingSettings.Retention(age: .seconds(3600))
    #expect(rule.isOld(modificationTime: modificationTime, now: 1_800_000_000_000_000_000) == isOld)
    #expect(!RecordingSettings.Retention().isOld(modificationTime: modificationTime, now: 0))
  }

  @Test func `a recording removes old files while it runs, never the one that it writes`() async throws {
    try await withTemporaryFolder { folder in
      let pattern = try FilePattern("\(folder)/out.mp4")
      let earlier = try await self.record(RecordingSettings(pattern, partDuration: .seconds(1))).map(\.path)
      #expect(earlier.count == 3)
      let settings = RecordingSettings(pattern, partDuration: .seconds(1), retention: .init(byteCount: 1))
      let test = TestRecorder(settings, descriptions: self.script.descriptions, clock: { 0 })
      let events = Task { await test.recorder.events.prefix { $0 != .ended }.reduce(into: []) { $0.append($1) } }
      _ = try await test.recorder.start(at: StreamScript.start)
      let end = StreamScript.start + .seconds(6)
      test.feed(
        self.script.samples(from: StreamScript.start, to: end).map(\.sample).filter { $0.presentationTime < end })
      let own = await test.recorder.stop(at: end).map(\.path)
      var (written, removed): (String?, [String]) = (nil, [])
      for event in try #require(await events.result(within: .seconds(300))).get() {
        switch event {
        case .partStarted(let path): written = path
        case .partFinished(let file) where file.path == written: written = nil
        case .removedOld(let path):
          #expect(path != written)
          removed.append(path)
        default: break
        }
      }
      #expect(own.count >= 5)
      // The oldest first; its own parts once a later one is finished, since it is split.
      #expect(Array(removed.prefix(3)) == earlier && Set(removed) == Set(earlier + own.dropLast()))
      #expect(names(in: folder) == own.suffix(1).map { String($0.dropFirst(folder.count + 1)) })
      #expect(removed.count == Set(removed).count)
    }
  }
}
