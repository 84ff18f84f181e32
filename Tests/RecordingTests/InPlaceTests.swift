import Containers
import Foundation
import Media
import NIOCore
import TestSupport
import Testing

@testable import Recording

@Suite("Finishing in place, overwriting, permissions")
struct InPlaceTests {
  private let script = StreamScript(keyframeDistance: 30, frameByteCount: 2000)
  private let end = StreamScript.start + .seconds(3)

  /// Records, and returns the open file's bytes before it is finished.
  private func record(_ settings: RecordingSettings) async throws -> (files: [FinishedRecording], open: Data) {
    var settings = settings
    settings.maximumCopiedByteCount = 0
    let test = TestRecorder(settings, descriptions: self.script.descriptions)
    let path = try await test.recorder.start(at: StreamScript.start)
    test.feed(
      self.script.samples(from: StreamScript.start, to: self.end + .milliseconds(200)).map(\.sample).filter {
        $0.presentationTime < self.end
      })
    try test.recorder.pause(at: self.end)
    try await eventually { test.recorder.status.state == .paused }
    let open = try Data(contentsOf: URL(filePath: path))
    return (await test.recorder.stop(at: self.end), open)
  }

  private func boxTypes(_ path: String) throws -> [FourCharacterCode] {
    try MP4Box.boxes(in: ByteBuffer(bytes: Data(contentsOf: URL(filePath: path)))).map(\.type)
  }

  /// Checks that each packet that a demuxer finds is the frame of its number.
  private func checkFrames(_ path: String) throws {
    let run = try Tools.run(
      "ffprobe",
      ["-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pos,size", "-of", "csv=p=0", path])
    let bytes = try Data(contentsOf: URL(filePath: path))
    let packets = run.text.split(separator: "\n").map { $0.split(separator: ",").compactMap { Int($0) } }
    #expect(packets.count == 90)
    for (index, packet) in packets.enumerated() {
      try #require(packet.count == 2)
      #expect(packet[0] == 2000)
      #expect(bytes[packet[1]..<packet[1] + 8].reduce(0) { $0 << 8 | Int($1) } == index)
    }
  }

  @Test func `a large recording is finished in place, without a second copy of its data`() async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      let (files, open) = try await self.record(RecordingSettings(FilePattern(path)))
      #expect(files.map { $0.duration.seconds.rounded() } == [3])
      #expect(files.first?.lostByteCount == 0)
      #expect(try self.boxTypes(path) == ["ftyp", "mdat", "moov", "free", "uuid"])
      let bytes = try Data(contentsOf: URL(filePath: path))
      #expect(bytes.count == files.first?.byteCount)
      // The data stay where they are.
      #expect(bytes[48..<open.count] == open[48...])
      try self.checkFrames(path)
      let listed = Recordings.list(matching: try FilePattern(path))
      #expect(listed.map(\.isFinished) == [true] && listed.first?.identity?.stream == "live")
      #expect(try await Recordings.repair(path) == .wasFinished(path: path))
      #expect(names(in: folder) == ["out.mp4"])
    }
  }

  @Test func `finishing in place is repeated after an interruption at any step`() async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      let (_, open) = try await self.record(RecordingSettings(FilePattern(path)))
      let finished = try Data(contentsOf: URL(filePath: path))
      let index = finished.dropFirst(open.count)
      // With and without the size of mdat in the reserve, which follows the 24 bytes of ftyp.
      for length in [0, 1, 9, index.count / 2, index.count] {
        for hasSize in [false, true] {
          var interrupted = open + index.prefix(length)
          if hasSize { interrupted.replaceSubrange(32..<40, with: finished[32..<40]) }
          try interrupted.write(to: URL(filePath: path))
          guard
            case .finished(let result) = try UnfinishedRecording(path, isRequested: true).repair(
              maximumCopiedByteCount: 0)
          else {
            Issue.record("not finished")
            return
          }
          #expect(result.damage == [])
          #expect(try Data(contentsOf: URL(filePath: path)) == finished, "\(length) \(hasSize)")
        }
      }
    }
  }

  @Test func `an existing file is replaced when the new one has its first fragment`() async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      try "mine".write(toFile: path, atomically: false, encoding: .utf8)
      let settings = RecordingSettings(try FilePattern(path), existingFiles: .overwrite)
      let test = TestRecorder(settings, descriptions: self.script.descriptions)
      #expect(try await test.recorder.start(at: StreamScript.start) == path)
      #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
      #expect(await test.recorder.stop(at: StreamScript.start).isEmpty)
      #expect(names(in: folder) == ["out.mp4"])
      #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
      #expect(try await self.record(settings).files.map(\.path) == [path])
      #expect(names(in: folder) == ["out.mp4"])
      try self.checkFrames(path)
    }
  }

  @Test func `a file that cannot be opened is not replaced, nor one that may be in use`() async throws {
    try await withTemporaryFolder { path in
      try "mine".write(toFile: "\(path)/target", atomically: false, encoding: .utf8)
      let folder = try Recording.FileDescriptor(path, O_RDONLY | O_DIRECTORY)
      func append() throws {
        let (file, name) = try TemporaryFile.make(in: folder, subject: "\(path)/out.mp4")
        var part = try RecordingPart(
          RecordingPart.File(file: file, folder: folder, name: name, finalName: "out.mp4"), head: ByteBuffer())
        defer { part.remove() }
        _ = try part.append(ByteBuffer(bytes: [1, 2, 3]), sampleCount: 1)
        part.remove()
      }
      // Not followed, so that it cannot be opened.
      try FileManager.default.createSymbolicLink(
        atPath: "\(path)/out.mp4", withDestinationPath: "\(path)/target")
      #expect(throws: VidiconError.self) { try append() }
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "\(path)/out.mp4") == "\(path)/target")
      try FileManager.default.removeItem(atPath: "\(path)/out.mp4")

      let owner = try Recording.FileDescriptor("\(path)/out.mp4", O_RDWR | O_CREAT)
      #expect(owner.lock() == .acquired)
      #expect(#expect(throws: VidiconError.self) { try append() }?.code == .busy)
      #expect(names(in: path) == ["out.mp4", "target"])
      try FileManager.default.removeItem(atPath: "\(path)/out.mp4")
      // There is nothing to replace.
      try append()
      #expect(names(in: path) == ["target"])
    }
  }

  @Test func `where a lock says nothing, only a finished recording or a file at rest is replaced`() {
    func code(
      _ lock: Recording.FileDescriptor.Lock, _ mark: RecordingMarker?, isAtRest: Bool = false
    ) -> VidiconError.Code? {
      ReplacedFile.refusal(of: "out.mp4", lock: lock, mark: mark, isAtRest: isAtRest)?.code
    }
    #expect([nil, .open, .finished].map { code(.unknown, $0, isAtRest: true) } == [nil, nil, nil])
    #expect([nil, .open, .finished].map { code(.taken, $0, isAtRest: true) } == [.busy, .busy, .busy])
    #expect([nil, .open, .finished].map { code(.acquired, $0) } == [nil, nil, nil])
    #expect([nil, .open, .finished].map { code(.unknown, $0) } == [.busy, .busy, nil])
    #expect([nil, .open, .finished].map { code(.taken, $0) } == [.busy, .busy, .busy])
  }

  @Test func `files are readable by owner and group only, and so are their folders`() async throws {
    try await withTemporaryFolder { folder in
      _ = try await self.record(RecordingSettings(FilePattern("\(folder)/%Y/out.mp4")))
      let manager = FileManager.default
      let folders = names(in: folder)
      try #require(folders.count == 1)
      let mask = Int(umask(0))
      _ = umask(mode_t(mask))
      #expect(
        try manager.attributesOfItem(atPath: "\(folder)/\(folders[0])")[.posixPermissions] as? Int == 0o750 & ~mask)
      #expect(
        try manager.attributesOfItem(atPath: "\(folder)/\(folders[0])/out.mp4")[.posixPermissions] as? Int
          == 0o640 & ~mask)
    }
  }

  @Test func `more names than are tried one by one are taken`() async throws {
    try await withTemporaryFolder { folder in
      try "mine".write(toFile: "\(folder)/out.mp4", atomically: false, encoding: .utf8)
      for number in 2...40 where number != 33 {
        try "mine".write(toFile: "\(folder)/out-\(number).mp4", atomically: false, encoding: .utf8)
      }
      #expect(
        try await self.record(RecordingSettings(FilePattern("\(folder)/out.mp4"))).files.map(\.path)
          == ["\(folder)/out-33.mp4"])
    }
  }
}
