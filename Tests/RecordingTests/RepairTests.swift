import Foundation
import Media
import TestSupport
import Testing

@testable import Recording

@Suite("Repair of recordings")
struct RepairTests {
  private let stream: EncodedStream

  init() throws { self.stream = try EncodedStream.shared.get() }

  @Test func `the file of a crashed recording is finished up to its last complete fragment`() async throws {
    let bytes = try await self.stream.unfinishedFile(seconds: 4)
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      for (cut, garbage, expected) in [(0, 0, 120), (1, 0, 90), (bytes.count / 2, 0, 30...90), (0, 5000, 120)]
        as [(Int, Int, Any)]
      {
        var damaged = bytes.dropLast(cut)
        damaged += Data(repeating: 0xA5, count: garbage)
        try damaged.write(to: URL(filePath: path))
        let result = try await Recordings.repair(path)
        guard case .finished(let finished) = result else { Issue.record("\(result)"); continue }
        #expect((finished.lostByteCount > 0) == (cut + garbage > 0))
        let count = try Tools.play(path).frames.count
        if let exact = expected as? Int { #expect(count == exact) }
        if let range = expected as? ClosedRange<Int> { #expect(range.contains(count)) }
        #expect(try await Recordings.repair(path) == .wasFinished(path: path))
        #expect(names(in: folder) == ["out.mp4"])
      }
    }
  }

  @Test func `a file whose head lost its tracks is not called finished, and is unchanged`() async throws {
    let bytes = try await self.stream.unfinishedFile(seconds: 1.2)
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      // A plain file by its boxes: zeros in place of everything by which a recording is recognized.
      var damaged = bytes
      let track = try #require(damaged.range(of: Data("trak".utf8))).upperBound
      let tail = try #require(damaged.range(of: Data("mdat".utf8), options: .backwards)).lowerBound - 4
      let movie = try #require(damaged.range(of: Data("moov".utf8))).lowerBound - 4
      damaged.replaceSubrange(track..<tail, with: Data(count: tail - track))
      withUnsafeBytes(of: UInt32(tail - movie).bigEndian) { damaged.replaceSubrange(movie..<movie + 4, with: $0) }
      try damaged.write(to: URL(filePath: path))
      let error = await #expect(throws: VidiconError.self) { try await Recordings.repair(path) }
      #expect(error?.cause.contains("damaged") == true, "\(String(describing: error))")
      #expect(try Data(contentsOf: URL(filePath: path)) == damaged && names(in: folder) == ["out.mp4"])
    }
  }

  @Test func `a file truncated at any byte is finished or refused, and a refused file is unchanged`() async throws {
    let bytes = try await self.stream.unfinishedFile(seconds: 1.2)
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      var finished = 0
      // Any length within the head and the first tables, and lengths of the rest.
      var generator = SplitMix(seed: 3)
      let headLengths = Array(0...64) + (0..<200).map { _ in Int.random(in: 65...2500, using: &generator) }
      for length in headLengths + Array(stride(from: 2501, through: bytes.count, by: 397)) {
        let cut = bytes.prefix(length)
        try cut.write(to: URL(filePath: path))
        do throws(VidiconError) {
          let result = try await Recordings.repair(path)
          if case .finished = result { finished += 1 }
        } catch {
          #expect(error.code == .invalidData)
          #expect((try? Data(contentsOf: URL(filePath: path))) == cut)
        }
      }
      #expect(finished > 5)
      #expect(names(in: folder) == ["out.mp4"])
    }
  }

  @Test(arguments: [
    ("empty", Data()), ("text", Data("this is a text and no film at all".utf8)), ("zeros", Data(count: 4096)),
    ("head", Data([0, 0, 0, 16]) + Data("ftypisom".utf8) + Data(count: 4)),
  ])
  func `a file that is not a recording is refused in one line`(name: String, content: Data) async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/\(name)"
      try content.write(to: URL(filePath: path))
      let error = await #expect(throws: VidiconError.self) { try await Recordings.repair(path) }
      #expect(error?.code == .invalidData)
      #expect(error?.description.hasPrefix("\(path): ") == true)
      #expect(try Data(contentsOf: URL(filePath: path)) == content)
      #expect(await Recordings.repairAll(in: folder) == [], "it is none of ours")
    }
  }

  @Test func `a missing file, a folder and a pipe are refused`() async throws {
    try await withTemporaryFolder { folder in
      let missing = await #expect(throws: VidiconError.self) { try await Recordings.repair("\(folder)/x.mp4") }
      #expect(missing?.code == .notFound)
      #expect(await #expect(throws: VidiconError.self) { try await Recordings.repair(folder) } != nil)
      mkfifo("\(folder)/pipe", 0o600)
      let pipe = await #expect(throws: VidiconError.self) { try await Recordings.repair("\(folder)/pipe") }
      #expect(pipe?.code == .invalidData)
    }
  }

  @Test func `all unfinished files of a folder are finished, and files being recorded are not touched`() async throws {
    let bytes = try await self.stream.unfinishedFile(seconds: 2)
    try await withTemporaryFolder { folder in
      for name in ["a.mp4", "b.mp4"] { try bytes.write(to: URL(filePath: "\(folder)/\(name)")) }
      // Killed before the first fragment, killed while finishing, and files of other programs.
      let head = try #require(bytes.range(of: Data("moof".utf8))).lowerBound - 4
      try bytes.prefix(head).write(to: URL(filePath: "\(folder)/c.mp4"))
      try Data("half".utf8).write(to: URL(filePath: "\(folder)/.vidicon-7b.tmp"))
      try Data("mine".utf8).write(to: URL(filePath: "\(folder)/notes.txt"))
      let test = TestRecorder(
        RecordingSettings(try FilePattern("\(folder)/live.mp4")), descriptions: self.stream.descriptions)
      _ = try await test.recorder.start(at: EncodedStream.start)
      test.feed(self.stream.samples.filter { $0.presentationTime < EncodedStream.time(2) })

      let results = await Recordings.repairAll(in: folder)
      #expect(results.count == 3)
      #expect(results.contains(.removedEmpty(path: "\(folder)/c.mp4")))
      let busy = await #expect(throws: VidiconError.self) { try await Recordings.repair("\(folder)/live.mp4") }
      #expect(busy?.code == .busy)
      await test.recorder.stop(at: EncodedStream.time(2))
      #expect(names(in: folder) == ["a.mp4", "b.mp4", "live.mp4", "notes.txt"])
      for name in ["a.mp4", "b.mp4", "live.mp4"] { #expect(try Tools.play("\(folder)/\(name)").frames.count == 60) }
    }
  }

  @Test func `the next start finishes the files of the previous one`() async throws {
    let bytes = try await self.stream.unfinishedFile(seconds: 2)
    try await withTemporaryFolder { folder in
      try bytes.write(to: URL(filePath: "\(folder)/out.mp4"))
      let test = TestRecorder(
        RecordingSettings(try FilePattern("\(folder)/out.mp4")), descriptions: self.stream.descriptions)
      let path = try await test.recorder.start(at: EncodedStream.start)
      #expect(path == "\(folder)/out-2.mp4")
      await test.recorder.stop()
      #expect(names(in: folder) == ["out.mp4"])
      #expect(Recordings.list(matching: test.recorder.settings.pattern).map(\.isFinished) == [true])
    }
  }

  @Test func `a part that could not be finished counts until it is, also when another recording follows`() async throws
  {
    try await withTemporaryFolder { folder in
      let settings = RecordingSettings(try FilePattern("\(folder)/out.mp4"))
      let test = TestRecorder(settings, descriptions: self.stream.descriptions)
      /// Records two seconds into a file, whose bytes another program changes before it is finished.
      func record(_ change: (inout Data) throws -> Void) async throws {
        let path = try await test.recorder.start(at: EncodedStream.start)
        test.feed(self.stream.samples.filter { $0.presentationTime < EncodedStream.time(2) })
        try test.recorder.pause(at: EncodedStream.time(2))
        try await eventually { test.recorder.status.state == .paused }
        var bytes = try Data(contentsOf: URL(filePath: path))
        try change(&bytes)
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.write(contentsOf: bytes)
        try file.close()
        await test.recorder.stop(at: EncodedStream.time(2))
      }
      // A damaged fragment, which the next start repairs; then a head that nothing can repair.
      try await record { $0[try #require($0.range(of: Data("moof".utf8))).lowerBound] ^= 0xFF }
      #expect(test.recorder.status.unfinishedPartCount == 1)
      try await record {
        for box in ["moov", "vidicon.headcopy"] { $0[try #require($0.range(of: Data(box.utf8))).lowerBound] ^= 0xFF }
      }
      #expect(test.recorder.status.unfinishedPartCount == 1, "the first was repaired, the second was not finished")
      try await record { _ in }
      #expect(test.recorder.status.unfinishedPartCount == 1, "the third is finished, the second is not")
      #expect(Recordings.list(matching: settings.pattern).map(\.isFinished) == [true, true])
    }
  }

  @Test func `cleaning up a folder does not disturb a file that is being finished in it`() async throws {
    let bytes = try await self.stream.unfinishedFile(seconds: 1.2)
    try await withTemporaryFolder { folder in
      let others = try FilePattern("\(folder)/others.mp4")
      // Other recordings in this folder do the same at their start.
      let sweepers = (0..<2).map { _ in
        Task.detached { while !Task.isCancelled { _ = await Recordings.repairAll(matching: others) } }
      }
      for round in 0..<100 {
        let path = "\(folder)/\(round).mp4"
        try bytes.write(to: URL(filePath: path))
        let results = await Recordings.repairAll(matching: try FilePattern(path))
        guard case .finished? = results.first else {
          Issue.record("round \(round): \(results)")
          break
        }
      }
      for sweeper in sweepers {
        sweeper.cancel()
        await sweeper.value
      }
    }
  }

  @Test func `a repair keeps the permissions and times of the file`() async throws {
    let bytes = try await self.stream.unfinishedFile(seconds: 2)
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      try bytes.write(to: URL(filePath: path))
      let date = Date(timeIntervalSince1970: 1_700_000_000)
      try FileManager.default.setAttributes([.posixPermissions: 0o640, .modificationDate: date], ofItemAtPath: path)
      _ = try await Recordings.repair(path)
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == 0o640)
      #expect(attributes[.modificationDate] as? Date == date)
    }
  }
}
