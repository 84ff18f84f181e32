import FaultyDisk
import Foundation
import Media
import TestSupport
import Testing

@testable import Recording

@Suite("Files of the maximum size: FAT32, quotas, ulimit")
struct FullFileTests {
  private static let seconds = 16

  /// A limit, and the kind of recording that reaches it.
  struct Case: Sendable, CustomTestStringConvertible {
    /// Seconds of the recording that a file has room for, without the index of a finished file.
    var room: Double
    /// Part of the folder's name: "-rare" for a keyframe in four seconds instead of one, "-copied" for files that are finished by
    /// a copy instead of in place, "-large" for frames of 200 kB, so that more than 16 MiB follow a keyframe.
    var kind = ""
    /// Whether the limit is that of the process, which is known, or one of the disk, which a write finds.
    var isKnown = false

    var testDescription: String { "\(self.room) s\(self.kind)\(self.isKnown ? ", known" : "")" }
  }

  /// A recording of the probe to `out.mp4` of a folder.
  private struct Recording {
    var folder: String
    var lines: [Substring]
    /// Maximum size of its files, in bytes.
    var limit = Int.max

    /// The files, in the order of their parts.
    var files: [String] {
      (1...max(1, names(in: self.folder).count)).map { "\(self.folder)/out\($0 == 1 ? "" : "-\($0)").mp4" }
    }
  }

  private func record(_ name: String, limit: Int? = nil, on disk: FaultyDisk) throws -> Recording {
    let folder = "\(disk.root)/\(name)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let variables = try disk.environment().map { "\($0)=\($1)" }
    let shell = limit.map { ["bash", "-c", "ulimit -f \($0); exec \"$@\"", "-"] } ?? []
    let arguments = ["tape", "\(Self.seconds)", "\(folder)/out.mp4"]
    let run = try Tools.run("env", variables + shell + [BuiltProgram("RecordingProbe").url.path] + arguments)
    return Recording(folder: folder, lines: run.text.split(separator: "\n"))
  }

  /// Records without a limit, then with one.
  ///
  /// - Parameter fault: Further faults of the disk.
  private func record(
    _ limited: Case, fault: String = "", on disk: FaultyDisk
  ) throws -> (whole: Recording, parts: Recording) {
    let whole = try self.record("reference\(limited.kind)", on: disk)
    #expect(whole.lines.last == "ended 0 \(Self.seconds)", "\(whole.lines)")
    let limit = Int(Double(Tools.size(whole.files[0])) / Double(Self.seconds) * limited.room) + 3000
    var parts =
      limited.isKnown
      ? try self.record("plain\(limited.kind)", limit: limit >> 10, on: disk)
      : try self.record("limit-\(limit)-EFBIG\(fault).\(limited.kind)", on: disk)
    parts.limit = limited.isKnown ? limit & ~1023 : limit
    return (whole, parts)
  }

  /// Checksums of a file's packets of one kind, in order.
  private func packets(_ path: String, _ stream: String) throws -> [String] {
    let run = try Tools.run(
      "ffmpeg", ["-v", "error", "-nostdin", "-i", path, "-map", "0:\(stream)", "-c", "copy", "-f", "framemd5", "-"])
    #expect(run.status == 0 && run.errors == "", "\(path): \(run.errors)")
    return run.text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line in
      line.split(separator: ",").last?.trimmingCharacters(in: .whitespaces)
    }
  }

  private func startsWithKeyframe(_ path: String) throws -> Bool {
    let arguments = ["-v", "error", "-select_streams", "v:0", "-show_entries", "packet=flags", "-of", "csv=p=0"]
    return try Tools.run("ffprobe", arguments + [path]).text.hasPrefix("K")
  }

  @Test(
    arguments: [
      Case(room: 3.5), Case(room: 4.5, kind: "-copied"), Case(room: 4.5, isKnown: true), Case(room: 7.2, kind: "-rare"),
      Case(room: 7.2, kind: "-rare-copied"), Case(room: 8.5, kind: "-rare", isKnown: true),
      Case(room: 8.5, kind: "-rare-copied", isKnown: true), Case(room: 7.2, kind: "-rare-large"),
    ])
  func `a recording continues in the next file, which lacks nothing and repeats nothing`(limited: Case) async throws {
    try await withTemporaryFolder { folder in
      let (whole, parts) = try self.record(limited, on: FaultyDisk(root: "\(folder)/disk"))
      #expect(parts.lines.last == "ended 0 \(Self.seconds)", "\(parts.lines)")
      let files = parts.files
      #expect(files.count > 1 && files.count == parts.lines.count { $0.hasPrefix("finished ") }, "\(parts.lines)")
      for file in files {
        #expect((1...parts.limit).contains(Tools.size(file)), "\(file)")
        #expect(try RecordedSamples([UInt8](Data(contentsOf: URL(filePath: file))))?.isFinished == true, "\(file)")
        let warnings = try Tools.warnings(file)
        #expect(warnings == "", "\(file)")
        let startsWithKeyframe = try self.startsWithKeyframe(file)
        #expect(startsWithKeyframe, "\(file)")
      }
      for stream in ["v", "a"] {
        let recorded = try files.flatMap { try self.packets($0, stream) }
        let expected = try self.packets(whole.files[0], stream)
        #expect(recorded == expected, "\(stream): \(recorded.count) of \(expected.count)")
      }
    }
  }

  @Test func `with less room than from one keyframe to the next, each file begins at the next keyframe`() async throws {
    try await withTemporaryFolder { folder in
      let limited = Case(room: 3.2, kind: "-rare")
      let (_, parts) = try self.record(limited, on: FaultyDisk(root: "\(folder)/disk"))
      let lines = parts.lines
      #expect(!lines.contains { $0.hasPrefix("failed") } && lines.last?.hasPrefix("ended 0 ") == true, "\(lines)")
      #expect((3...4).contains(parts.files.count), "\(parts.files)")
      for file in parts.files {
        let (startsWithKeyframe, frames) = (try self.startsWithKeyframe(file), try self.packets(file, "v").count)
        #expect(startsWithKeyframe && (30...119).contains(frames), "\(file): \(frames)")
      }
    }
  }

  @Test func `a limit below one fragment ends the recording, and says why`() async throws {
    try await withTemporaryFolder { folder in
      let (_, parts) = try self.record(Case(room: 0.1), on: FaultyDisk(root: "\(folder)/disk"))
      #expect(parts.lines.contains("failed noSpace"), "\(parts.lines)")
      #expect(names(in: parts.folder) == [])
    }
  }

  @Test func `a kill while fragments move to the next file loses none that was synchronized`() async throws {
    try await withTemporaryFolder { folder in
      // The head, seven fragments, one that does not fit, which is written in part; the head of the next file, and the three
      // fragments that move.
      for number in 6...15 {
        let disk = FaultyDisk(root: "\(folder)/\(number)")
        let (_, parts) = try self.record(Case(room: 7.2, kind: "-rare"), fault: ",write-\(number)-kill", on: disk)
        #expect(!parts.lines.contains { $0.hasPrefix("ended") }, "\(number): \(parts.lines)")
        let results = await Recordings.repairAll(in: parts.folder)
        #expect(results.allSatisfy { if case .failed = $0 { false } else { true } }, "\(number): \(results)")
        let frames = try names(in: parts.folder).map { try self.packets("\(parts.folder)/\($0)", "v").count }
        // Each write of a fragment follows the synchronization of the one before.
        #expect(frames.reduce(0, +) >= (min(number, 9) - 2) * 30, "\(number): \(frames)")
      }
    }
  }
}
