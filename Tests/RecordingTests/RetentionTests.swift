import Foundation
import Media
import Testing
import Threading

@testable import Recording

@Suite("Retention: which files are removed")
struct RetentionTests {
  private static let owner = RecordingIdentity(stream: "cam", recorder: "%F.mp4")
  private static let hour: Int64 = 3_600_000_000_000
  private static let now: Int64 = 1_800_000_000_000_000_000

  /// A file of 10 bytes, some hours old.
  private static func file(
    _ name: String, age: Int64 = 0, of owner: RecordingIdentity? = Self.owner, isFinished: Bool = true,
    isClockSynchronized: Bool = true, id: UInt64 = 0
  ) -> RecordedFile {
    var status = stat()
    status.st_ino = UInt(id)
    return RecordedFile(
      path: "/recordings/\(name)", name: name, byteCount: 10, modificationTime: Self.now - age * Self.hour,
      isFinished: isFinished, identity: owner, isClockSynchronized: isClockSynchronized, id: FileID(status))
  }

  private func plan(age: Int64? = nil, byteCount: Int? = nil, now: Int64? = Self.now) -> RetentionPlan {
    RetentionPlan(
      rule: .init(age: age.map { .seconds($0 * 3600) }, byteCount: byteCount), owner: Self.owner, now: now)
  }

  @Test func `the oldest files beyond the size are removed, unfinished ones never`() {
    let files = [
      Self.file("a", age: 5, isFinished: false), Self.file("b", age: 4), Self.file("c", age: 3), Self.file("d", age: 2),
    ]
    #expect(self.plan(byteCount: 20).removals(from: files).map(\.name) == ["b", "c"])
    #expect(self.plan(byteCount: 40).removals(from: files) == [])
    #expect(self.plan().removals(from: files) == [])
  }

  @Test func `files of other streams, other recorders and earlier versions are neither removed nor counted`() {
    let others = [
      RecordingIdentity(stream: "cam-2", recorder: "%F.mp4"), RecordingIdentity(stream: "cam", recorder: "%Y-%m.mp4"),
      nil,
    ]
    let files = others.map { Self.file("other", age: 90, of: $0) } + [Self.file("own", age: 1)]
    #expect(self.plan(age: 24, byteCount: 10).removals(from: files) == [])
    #expect(self.plan(byteCount: 9).removals(from: files).map(\.name) == ["own"])
  }

  @Test func `protected files are kept, and count`() {
    let files = [Self.file("a", age: 5, id: 1), Self.file("b", age: 4, id: 2), Self.file("c", age: 3, id: 3)]
    var plan = self.plan(age: 1, byteCount: 1)
    plan.protected = Set([files[0], files[2]].compactMap(\.id))
    #expect(plan.removals(from: files).map(\.name) == ["b"])
  }

  @Test func `no age is known while the clock is not synchronized, or was not when the file was created`() {
    let files = [Self.file("a", age: 500_000, isClockSynchronized: false), Self.file("b", age: 30)]
    #expect(self.plan(age: 24).removals(from: files).map(\.name) == ["b"])
    #expect(self.plan(age: 24, now: nil).removals(from: files) == [])
  }

  @Test func `as many files as the disk lacks space are removed`() {
    let files = (1...5).map { Self.file("\($0)", age: 10 - $0) }
    var plan = self.plan(byteCount: 1000)
    for (missing, count) in [(1, 1), (10, 1), (11, 2), (1000, 5)] {
      plan.missingByteCount = missing
      #expect(plan.removals(from: files).map(\.name) == (1...count).map(String.init))
    }
  }

  @Test func `the space that stays free is 1 GB, or 5 % of a small disk, or what was requested`() {
    #expect(DiskSpace(free: 2_000_000_000, total: 100_000_000_000).missing(for: 1000, leaving: nil) == 0)
    #expect(DiskSpace(free: 1_000_000_999, total: 100_000_000_000).missing(for: 1000, leaving: nil) == 1)
    #expect(DiskSpace(free: 51_000_000, total: 1_000_000_000).missing(for: 1_000_000, leaving: nil) == 0)
    #expect(DiskSpace(free: 50_000_000, total: 1_000_000_000).missing(for: 1_000_000, leaving: nil) == 1_000_000)
    #expect(DiskSpace(free: 50, total: 1_000_000_000).missing(for: 50, leaving: 0) == 0)
  }

  private let script = StreamScript(keyframeDistance: 30)

  /// Records three seconds, and returns the events.
  private func record(
    _ settings: RecordingSettings, name: String = "cam", seconds: Int64 = 3, isClockSynchronized: Bool = true
  ) async throws -> [RecordingEvent] {
    let test = TestRecorder(
      settings, descriptions: self.script.descriptions, name: name, isClockSynchronized: isClockSynchronized,
      clock: { Self.now })
    let events = Task { await test.recorder.events.prefix { $0 != .ended }.reduce(into: []) { $0.append($1) } }
    _ = try await test.recorder.start(at: StreamScript.start)
    let end = StreamScript.start + .seconds(seconds)
    test.feed(self.script.samples(from: StreamScript.start, to: end).map(\.sample))
    await test.recorder.stop(at: end)
    return try #require(await events.result(within: .seconds(300))).get()
  }

  @Test func `a recording larger than its own limit is kept`() async throws {
    try await withTemporaryFolder { folder in
      let settings = RecordingSettings(try FilePattern("\(folder)/party.mp4"), retention: .init(byteCount: 1))
      let events = try await self.record(settings)
      #expect(!events.contains { if case .removedOld = $0 { true } else { false } })
      #expect(names(in: folder) == ["party.mp4"])
    }
  }

  @Test func `a file that another process of the recorder finished in the last minute is kept`() {
    let second: Int64 = 1_000_000_000
    let files = [3600, 61, 59, 0, -59, -61].enumerated().map { index, seconds in
      var file = Self.file("\(seconds)", id: UInt64(index))
      file.changeTime = Self.now - Int64(seconds) * second
      file.modificationTime = file.changeTime
      return file
    }
    var plan = self.plan(byteCount: 1)
    #expect(plan.removals(from: files) == files)
    plan.fileSystemTime = Self.now
    #expect(plan.removals(from: files).map(\.name) == ["3600", "61", "-61"])
    plan.isFinishedHere = { $0.name == "0" }
    #expect(plan.removals(from: files).map(\.name) == ["3600", "61", "0", "-61"])
    // Made old by another program just now.
    var old = files[3]
    old.modificationTime -= Self.hour
    plan.isFinishedHere = { _ in false }
    #expect(plan.removals(from: [old]) == [old])
  }

  @Test func `a new file with the inode of one that this process finished is not taken for it`() {
    let finished = FinishedFiles()
    var file = Self.file("a", id: 7)
    file.changeTime = Self.now
    finished.insert(file)
    #expect(finished.contains(file))
    file.changeTime += 1
    #expect(!finished.contains(file))
    file.id = nil
    finished.insert(file)
    #expect(!finished.contains(file))
  }

  @Test func `two processes with the same pattern and folder keep what each has just finished`() async throws {
    try await withTemporaryFolder { folder in
      let rule = RecordingSettings.Retention(byteCount: 1)
      let settings = RecordingSettings(try FilePattern("\(folder)/out.mp4"), retention: rule)
      _ = try await self.record(settings)
      // A copy is a file that this process has not finished, as is one of another process.
      try FileManager.default.copyItem(atPath: "\(folder)/out.mp4", toPath: "\(folder)/out-7.mp4")
      _ = try await self.record(settings)
      #expect(names(in: folder) == ["out-2.mp4", "out-7.mp4"])
    }
  }

  @Test func `files with numbers of seven digits are removed and listed as others are`() async throws {
    try await withTemporaryFolder { folder in
      let rule = RecordingSettings.Retention(byteCount: 1)
      // As if the same recorder had recorded a million files before.
      _ = try await self.record(
        RecordingSettings(FilePattern("\(folder)/out-1000000.mp4"), recorderID: "id"))
      let pattern = try FilePattern("\(folder)/out.mp4")
      #expect(Recordings.list(matching: pattern).map(\.name) == ["out-1000000.mp4"])
      _ = try await self.record(RecordingSettings(pattern, retention: rule, recorderID: "id"))
      #expect(names(in: folder) == ["out.mp4"])
    }
  }

  @Test func `after the clock was set back no file is older than it was`() {
    // Finished two hours before, by a clock that is then set back by one.
    let file = Self.file("a", age: 2)
    let hourBack = Self.now - Self.hour
    #expect(self.plan(age: 1, now: Self.now).removals(from: [file]) == [file])
    #expect(self.plan(age: 1, now: hourBack).removals(from: [file]) == [])
    // Its time is in the future then.
    #expect(self.plan(age: 1, now: Self.now - 3 * Self.hour).removals(from: [file]) == [])
    #expect(self.plan(age: 1, now: hourBack + 1).removals(from: [file]) == [file])
  }

  @Test func `a recorder removes neither the files of a stream with a longer name nor those of another pattern`()
    async throws
  {
    try await withTemporaryFolder { folder in
      _ = try await self.record(RecordingSettings(FilePattern("\(folder)/cam-2.mp4")), name: "cam-2")
      _ = try await self.record(RecordingSettings(FilePattern("\(folder)/%Y-%m-%d.mp4")))
      let others = names(in: folder)
      #expect(others.count == 2)
      let rule = RecordingSettings.Retention(byteCount: 1)
      for pattern in ["cam.mp4", "%Y-%m.mp4"] {
        for _ in 0..<2 {
          _ = try await self.record(RecordingSettings(FilePattern("\(folder)/\(pattern)"), retention: rule))
        }
      }
      #expect(Set(names(in: folder)).isSuperset(of: others))
      // Of its own two recordings each kept the one that it finished last.
      #expect(names(in: folder).count == 4)
    }
  }

  @Test func `without a synchronized clock nothing is removed by age, which is reported once`() async throws {
    try await withTemporaryFolder { folder in
      let pattern = try FilePattern("\(folder)/out.mp4")
      _ = try await self.record(RecordingSettings(pattern))
      let old = [timespec](repeating: timespec(tv_sec: 1_000_000_000, tv_nsec: 0), count: 2)
      try #require(utimensat(AT_FDCWD, "\(folder)/out.mp4", old, 0) == 0)
      let settings = RecordingSettings(pattern, partDuration: .seconds(1), retention: .init(age: .seconds(3600)))
      let events = try await self.record(settings, isClockSynchronized: false)
      #expect(events.count { $0 == .agesUnknown } == 1)
      #expect(names(in: folder).contains("out.mp4"))
      let later = try await self.record(settings)
      #expect(later.contains(.removedOld(path: "\(folder)/out.mp4")))
    }
  }

  @Test func `a disk with less free space than required ends the recording, or the oldest files go`() async throws {
    try await withTemporaryFolder { folder in
      let pattern = try FilePattern("\(folder)/out.mp4")
      var settings = RecordingSettings(pattern, minimumFreeByteCount: .max / 2)
      let test = TestRecorder(settings, descriptions: self.script.descriptions, name: "cam")
      let error = await #expect(throws: VidiconError.self) { try await test.recorder.start(at: StreamScript.start) }
      #expect(error?.code == .noSpace)
      #expect(names(in: folder) == [], "an empty file is removed")
      settings.minimumFreeByteCount = 0
      _ = try await self.record(settings)
      settings.minimumFreeByteCount = .max / 2
      settings.retention.byteCount = 1 << 40
      let own = TestRecorder(settings, descriptions: self.script.descriptions, name: "cam")
      #expect(try await own.recorder.start(at: StreamScript.start) == "\(folder)/out-2.mp4")
      #expect(names(in: folder) == ["out-2.mp4"])
      let end = StreamScript.start + .seconds(3)
      own.feed(self.script.samples(from: StreamScript.start, to: end).map(\.sample))
      #expect(await own.recorder.waitUntilEnd() == [])
      #expect(own.recorder.status.error?.code == .noSpace)
    }
  }
}
