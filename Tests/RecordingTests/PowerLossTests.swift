import FaultyDisk
import Foundation
import Media
import TestSupport
import Testing

@testable import Recording

@Suite("Recordings after a power loss or a kill at any call")
struct PowerLossTests {
  @Test(arguments: ["recording", "recording-copied"])
  func `a recording of 30 seconds keeps every synchronized fragment whatever call is the last`(name: String)
    async throws
  {
    try await withTemporaryFolder { folder in
      let root = "\(folder)/disk"
      try FileManager.default.createDirectory(atPath: "\(root)/\(name)", withIntermediateDirectories: true)
      let disk = FaultyDisk(root: root, journalPath: "\(folder)/journal")
      let lines = try await BuiltProgram("RecordingProbe").lines(
        ["tape", "30", "\(root)/\(name)/%Y/out.mp4"], environment: disk.environment())
      #expect(lines.last == "ended 0 30", "\(lines)")
      let path = try #require(lines.first { $0.hasPrefix("finished ") }.map { String($0.dropFirst(9)) })
      var judge = InterruptionJudge(path: path)
      let calls = try disk.journal()
      for call in calls { judge.perform(call) }
      judge.end()
      #expect(judge.losses.prefix(5) == [], "\(judge.losses.count) of \(judge.cutCount)")
      // 30 frames and 45 or 46 audio frames a second; the encoder delays the last ones.
      #expect(judge.promised == 2248)
      #expect(judge.cutCount > 500, "\(judge.cutCount)")
      let judged = judge.samples.count { $0.promised > 0 }
      #expect(judged * 2 > judge.samples.count, "\(judged) of \(judge.samples.count)")
      for (index, sample) in judge.samples.enumerated() {
        try await self.check(sample.image, path, promised: sample.promised, decodes: index % 4 == 0)
      }
    }
  }

  /// Writes a disk's files, repairs them, and plays the recording.
  private func check(_ image: DiskReplay.Image, _ path: String, promised: Int, decodes: Bool) async throws {
    try await withTemporaryFolder { folder in
      for (name, bytes) in image {
        try Data(bytes).write(to: URL(filePath: "\(folder)/\(URL(filePath: name).lastPathComponent)"))
      }
      let results = await Recordings.repairAll(in: folder)
      #expect(results.allSatisfy { if case .failed = $0 { false } else { true } }, "\(results)")
      #expect(names(in: folder).allSatisfy { !$0.hasPrefix(".") })
      guard promised > 0 else { return }
      let file = "\(folder)/out.mp4"
      let found = RecordedSamples([UInt8](try Data(contentsOf: URL(filePath: file))))
      #expect(found?.isFinished == true && found?.count ?? 0 >= promised, "\(String(describing: found)), \(promised)")
      let listed = Recordings.list(matching: try FilePattern(file))
      #expect(listed.map(\.isFinished) == [true] && listed.first?.identity?.stream == "live")
      guard decodes else { return }
      let counted = try Tools.run(
        "ffprobe", ["-v", "error", "-count_packets", "-show_entries", "stream=nb_read_packets", "-of", "csv=p=0", file])
      #expect(counted.text.split(separator: "\n").compactMap { Int($0) }.reduce(0, +) == found?.count)
    }
  }
}
