import Foundation
import Media
import TestSupport
import Testing

@testable import Recording

@Suite("Crashes and full disks, in a separate recording process", .serialized)
struct CrashTests {
  /// Timecode strip values, in microseconds, of the frames that the probe reported.
  private func frames(_ lines: [String]) -> [Int] {
    lines.compactMap { $0.hasPrefix("frame ") ? Int($0.dropFirst(6)) : nil }
  }

  private func events(_ lines: [String]) -> [String] {
    lines.filter { $0.hasPrefix("event ") }.map { String($0.dropFirst(6)) }
  }

  /// Timecode strip values of a file's frames, decoded with every decoder warning treated as a failure.
  private func strips(_ path: String) throws -> [Int] {
    let decoded = try Tools.run(
      "ffmpeg",
      [
        "-hide_banner", "-nostdin", "-nostats", "-loglevel", "warning", "-xerror", "-i", path, "-fps_mode",
        "passthrough",
      ]
        + ["-vf", "crop=320:16:0:0,format=gray", "-f", "rawvideo", "pipe:1"])
    #expect(decoded.status == 0 && decoded.errors == "", "\(decoded.errors)")
    return (0..<decoded.output.count / 5120).map { index in
      decoded.output.dropFirst(index * 5120).prefix(5120).withUnsafeBytes {
        Strip.read($0, width: 320, height: 16).map { $0 + 1 } ?? -1
      }
    }
  }

  @Test(arguments: 1...4)
  func `a file whose recorder is killed plays up to its last second and can be repaired`(round: Int) async throws {
    try await withTemporaryFolder { folder in
      let probe = try BuiltProgram("RecordingProbe").url.path
      let finished = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<5 {
          let path = "\(folder)/\(number).mp4"
          group.addTask {
            let process = try Probe([probe, path, "30000"])
            // The first one is killed with several fragments in its file.
            await process.wait(forLines: number == 0 ? 200 : Int.random(in: 3...100))
            process.kill()
            return try await self.check(path, streamed: self.frames(await process.lines()))
          }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(finished > 0)
      #expect(names(in: folder).allSatisfy { !$0.hasPrefix(".") })
    }
  }

  /// Repairs and plays a file; returns whether there was one to keep.
  private func check(_ path: String, streamed: [Int]) async throws -> Bool {
    let results = await Recordings.repairAll(matching: try FilePattern(path))
    guard case .finished(let finished)? = results.first else {
      // Killed within the first second, while waiting up to half a second for a keyframe.
      #expect(results == [.removedEmpty(path: path)])
      #expect(onQuietMachine(streamed.count <= 30 + 15 + 12))
      return false
    }
    #expect(results.count == 1)
    // Frames that were recorded before the probe reported its first are in the file alone.
    let begin = try #require(streamed.first)
    let recorded = try self.strips(path).filter { $0 < 0 || $0 >= begin - 2 }
    let first = try #require(recorded.first)
    let expected = streamed.filter { $0 >= first - 2 }
    // Both sides round times to microseconds.
    #expect(zip(recorded, expected).allSatisfy { abs($0 - $1) <= 2 }, "none is missing")
    let lost = expected.count - recorded.count
    // A fragment of 30 frames, the frame that ends it, 3 frames whose audio is 70 ms behind, and 8 as a margin for a
    // busy disk and machine; 4 to 31 were measured.
    #expect(onQuietMachine(lost <= 30 + 1 + 3 + 8), "a fragment, and what was on its way: \(lost) of \(expected.count)")
    #expect(try Tools.warnings(path) == "")
    #expect(finished.duration > .milliseconds(700))
    return true
  }

  @Test func `a recording that reaches the file size limit continues in other files and lacks no frame`() async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      // In units of 1024 bytes; audio and video together take 22 kB/s.
      let process = try Probe([
        "bash", "-c", "ulimit -f 90; exec \"$0\" \"$1\" 300", BuiltProgram("RecordingProbe").url.path, path,
      ])
      let lines = await process.lines()
      #expect(process.status == 0)
      let finished = self.events(lines).filter { $0.hasPrefix("finished ") }.map { String($0.dropFirst(9)) }
      #expect(self.events(lines).count == finished.count, "\(self.events(lines))")
      #expect(finished.count > 1 && finished.count == names(in: folder).count, "\(names(in: folder))")
      #expect(finished.allSatisfy { Tools.size($0) <= 90 << 10 })
      let recorded = try finished.flatMap { try self.strips($0) }
      for file in finished { #expect(try Tools.warnings(file) == "") }
      let first = try #require(recorded.first)
      let expected = self.frames(lines).filter { $0 >= first }
      // Both sides round times to microseconds.
      #expect(zip(recorded, expected).allSatisfy { abs($0 - $1) <= 2 }, "none is missing, none is there twice")
      #expect(recorded.count > 240)
    }
  }

  @Test func `a recording that fills its disk is kept`() async throws {
    try await withTemporaryFolder { folder in
      let copy = "\(folder)/copy.mp4"
      let script = """
        mount -t tmpfs -o size=160k tmpfs "$1" && "$0" "$1/out.mp4" 240 && ls -A "$1" && cp "$1/out.mp4" "$2"
        """
      try FileManager.default.createDirectory(atPath: "\(folder)/disk", withIntermediateDirectories: false)
      // An unprivileged user is root in a user namespace.
      let user = getuid() == 0 ? [] : ["--user", "--map-root-user"]
      let process = try Probe(
        ["unshare"] + user
          + ["--mount", "bash", "-c", script, BuiltProgram("RecordingProbe").url.path, "\(folder)/disk", copy])
      let lines = await process.lines()
      #expect(process.status == 0, "needs mount namespaces; without them: sysctl kernel.unprivileged_userns_clone=1")
      #expect(lines.last == "out.mp4", "no litter")
      try self.checkFull(lines, copy)
    }
  }

  private func checkFull(_ lines: [String], _ path: String) throws {
    let events = self.events(lines)
    #expect(events.filter { $0.hasPrefix("noSpace: ") }.count >= 1, "\(events)")
    #expect(self.frames(lines).count >= 240, "the stream went on")
    let recorded = try self.strips(path)
    #expect((30..<240).contains(recorded.count))
    #expect(try Tools.warnings(path) == "")
  }
}
