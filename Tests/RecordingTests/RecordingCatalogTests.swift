import Foundation
import Media
import Synchronization
import TestSupport
import Testing

@testable import Recording

@Suite("Catalog of recorded files")
struct RecordingCatalogTests {
  /// Watch that reports what a test says.
  private final class ScriptedWatch: FolderWatch, Sendable {
    let next = Mutex<FolderChanges>(.entries([]))
    let folders = Mutex<[String]>([])

    func add(_ folder: String) -> Bool {
      self.folders.withLock { $0.append(folder) }
      return true
    }

    func changes() -> FolderChanges {
      self.next.withLock { next in
        defer { next = .entries([]) }
        return next
      }
    }
  }

  private static var script: StreamScript { StreamScript(keyframeDistance: 30) }

  /// Records a second to a file.
  private func record(_ path: String, stream: String = "live") async throws {
    let test = TestRecorder(
      RecordingSettings(try FilePattern(path), recorderID: "id"), descriptions: Self.script.descriptions, name: stream)
    _ = try await test.recorder.start(at: StreamScript.start)
    test.feed(
      Self.script.samples(from: StreamScript.start, to: StreamScript.start + .seconds(1)).map(\.sample))
    await test.recorder.stop(at: StreamScript.start + .seconds(1))
  }

  private func catalog(
    _ pattern: String, watch: @escaping @Sendable () -> (any FolderWatch)? = makeFolderWatch
  ) throws -> RecordingCatalog {
    RecordingCatalog(
      try FilePattern(pattern), of: RecordingIdentity(stream: "live", recorder: "id"), makeWatch: watch)
  }

  /// Makes a file unreadable as a recording, in a way that its directory entry and status do not show.
  private func ruin(_ path: String) throws {
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.write(contentsOf: Data(count: 100))
    try file.close()
    try self.setTime(path)
  }

  private func setTime(_ path: String) throws {
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)], ofItemAtPath: path)
  }

  @Test(arguments: [true, false])
  func `after the first list no unchanged file is opened, neither for a list nor for a download`(isWatched: Bool)
    async throws
  {
    try await withTemporaryFolder { folder in
      try await self.record("\(folder)/out.mp4")
      for number in 2...20 {
        try FileManager.default.copyItem(atPath: "\(folder)/out.mp4", toPath: "\(folder)/out-\(number).mp4")
      }
      for name in names(in: folder) { try self.setTime("\(folder)/\(name)") }
      let scripted = ScriptedWatch()
      let catalog = try self.catalog("\(folder)/out.mp4") { isWatched ? scripted : nil }
      let first = catalog.files()
      #expect(first.count == 20 && first.allSatisfy { $0.isFinished && $0.identity?.stream == "live" })
      for file in first { try self.ruin(file.path) }
      #expect(Recordings.list(matching: try FilePattern("\(folder)/out.mp4")) == [], "all heads are unreadable")
      #expect(catalog.files() == first)
      for file in first { #expect(catalog.file(named: file.name) == file) }
      #expect(scripted.folders.withLock { $0 } == (isWatched ? [folder] : []))
    }
  }

  @Test(arguments: [true, false])
  func `files that other programs add, change, rename and remove are seen`(isWatched: Bool) async throws {
    try await withTemporaryFolder { folder in
      try await self.record("\(folder)/source.mp4")
      let bytes = try Data(contentsOf: URL(filePath: "\(folder)/source.mp4"))
      let catalog = try self.catalog("\(folder)/%Y/%m.mp4") { isWatched ? makeFolderWatch() : nil }
      #expect(catalog.files() == [] && catalog.file(named: "2026/01.mp4") == nil)
      func write(_ name: String) throws {
        let url = URL(filePath: "\(folder)/\(name)")
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try bytes.write(to: url)
      }
      func listed() -> [String] { catalog.files().map(\.name).sorted() }
      try write("2026/01.mp4")
      #expect(listed() == ["2026/01.mp4"])
      try write("2026/02.mp4")
      try write("2026/02-2.mp4")
      try write("2026/02-1000000.mp4")
      try write("2026/notes.mp4")
      #expect(listed() == ["2026/01.mp4", "2026/02-1000000.mp4", "2026/02-2.mp4", "2026/02.mp4"])
      #expect(catalog.file(named: "2026/02-1000000.mp4")?.isFinished == true)
      try FileManager.default.removeItem(atPath: "\(folder)/2026/02-1000000.mp4")
      try FileManager.default.moveItem(atPath: "\(folder)/2026/02.mp4", toPath: "\(folder)/2026/03.mp4")
      try FileManager.default.removeItem(atPath: "\(folder)/2026/01.mp4")
      #expect(catalog.file(named: "2026/01.mp4") == nil && catalog.file(named: "2026/03.mp4")?.isFinished == true)
      #expect(listed() == ["2026/02-2.mp4", "2026/03.mp4"])
      try Data("no recording".utf8).write(to: URL(filePath: "\(folder)/2026/03.mp4"))
      // A process that another test just starts has a copy of the descriptor, and closes the file later.
      try await eventually { listed() == ["2026/02-2.mp4"] }
      try FileManager.default.moveItem(atPath: "\(folder)/2026", toPath: "\(folder)/2027")
      #expect(listed() == ["2027/02-2.mp4"])
      try FileManager.default.removeItem(atPath: "\(folder)/2027")
      #expect(listed() == [])
      try write("2028/12.mp4")
      #expect(catalog.file(named: "2028/12.mp4")?.byteCount == bytes.count, "without a list before")
      #expect(listed() == ["2028/12.mp4"])
    }
  }

  @Test func `a running recording has its current size, and is finished when it is`() async throws {
    try await withTemporaryFolder { folder in
      let pattern = try FilePattern("\(folder)/out.mp4")
      let test = TestRecorder(RecordingSettings(pattern), descriptions: Self.script.descriptions)
      let recorder = test.recorder
      #expect(recorder.files() == [])
      _ = try await recorder.start(at: StreamScript.start)
      let empty = try #require(recorder.files().first)
      test.feed(Self.script.samples(from: StreamScript.start, to: StreamScript.start + .seconds(3)).map(\.sample))
      try recorder.pause(at: StreamScript.start + .seconds(3))
      try await eventually { recorder.status.state == .paused }
      let open = try #require(recorder.files().first)
      #expect(!open.isFinished && open.byteCount > empty.byteCount && recorder.file(named: "out.mp4") == open)
      let finished = await recorder.stop(at: StreamScript.start + .seconds(3))
      #expect(recorder.files().map(\.isFinished) == [true])
      #expect(recorder.files().map(\.byteCount) == finished.map(\.byteCount))
      try FileManager.default.removeItem(atPath: "\(folder)/out.mp4")
      #expect(recorder.files() == [] && recorder.file(named: "out.mp4") == nil)
    }
  }

  @Test func `files are listed again when the system has lost count of the changes`() async throws {
    try await withTemporaryFolder { folder in
      try await self.record("\(folder)/out.mp4")
      let watch = ScriptedWatch()
      let catalog = try self.catalog("\(folder)/out.mp4") { watch }
      #expect(catalog.files().count == 1)
      try FileManager.default.moveItem(atPath: "\(folder)/out.mp4", toPath: "\(folder)/out-2.mp4")
      watch.next.withLock { $0 = .unknown }
      #expect(catalog.files().map(\.name) == ["out-2.mp4"])
      try FileManager.default.moveItem(atPath: "\(folder)/out-2.mp4", toPath: "\(folder)/out-3.mp4")
      watch.next.withLock { $0 = .entries(["\(folder)/out-2.mp4", "\(folder)/out-3.mp4"]) }
      #expect(catalog.files().map(\.name) == ["out-3.mp4"])
      // Files that the recorder reports need no watch.
      try FileManager.default.moveItem(atPath: "\(folder)/out-3.mp4", toPath: "\(folder)/out-4.mp4")
      catalog.note("\(folder)/out-3.mp4")
      catalog.note("\(folder)/out-4.mp4")
      #expect(catalog.files().map(\.name) == ["out-4.mp4"])
    }
  }

  @Test func `only names of the pattern are looked up, and only files of the recorder are found`() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: "\(folder)/in", withIntermediateDirectories: false)
      try await self.record("\(folder)/in/out.mp4")
      try await self.record("\(folder)/in/other.mp4")
      try await self.record("\(folder)/in/out-2.mp4", stream: "another")
      let catalog = try self.catalog("\(folder)/in/out.mp4")
      #expect(catalog.files().map(\.name) == ["out.mp4"])
      for name in ["other.mp4", "out-2.mp4", "", ".", "..", "../in/out.mp4", "./out.mp4", "/out.mp4", "in/out.mp4"] {
        #expect(catalog.file(named: name) == nil, "\(name)")
      }
      #expect(catalog.file(named: "out.mp4")?.isFinished == true)
      try FileManager.default.createSymbolicLink(
        atPath: "\(folder)/in/out-3.mp4", withDestinationPath: "\(folder)/in/other.mp4")
      #expect(catalog.file(named: "out-3.mp4") == nil && catalog.files().count == 1)
    }
  }
}
