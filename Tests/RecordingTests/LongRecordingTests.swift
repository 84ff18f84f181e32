import Foundation
import Media
import NIOCore
import TestSupport
import Testing

@testable import Recording

@Suite("An hour", .serialized)
struct LongRecordingTests {
  /// The memory of this process, in bytes.
  private func residentMemory() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    return try #require(Int(text.split(separator: " ")[1])) * Int(getpagesize())
  }

  @Test func `an hour takes no more memory than a minute, and finishing it little more than a copy`() async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      let script = StreamScript(pictureLength: 1000)
      let test = TestRecorder(RecordingSettings(try FilePattern(path)), descriptions: script.descriptions)
      _ = try await test.recorder.start(at: StreamScript.start)
      var picture: Int64 = 0
      var sound: Int64 = 0
      var afterMinute = 0
      for second in Int64(1)...3600 {
        let end = StreamScript.start + .seconds(second)
        while case let sample = script.picture(picture), sample.presentationTime < end {
          test.feed(CollectionOfOne(sample))
          picture += 1
        }
        while case let sample = script.sound(sound), sample.presentationTime < end {
          test.feed(CollectionOfOne(sample))
          sound += 1
        }
        // A disk that keeps up.
        try await eventually { test.recorder.status.queuedByteCount <= 1 << 20 }
        if second == 60 { afterMinute = try self.residentMemory() }
      }
      let grown = try self.residentMemory() - afterMinute
      #expect(grown < 24 << 20, "\(grown >> 10) KiB more")

      let begin = ContinuousClock.now
      let files = await test.recorder.stop(at: StreamScript.start + .seconds(3600))
      let duration = ContinuousClock.now - begin
      // 3600 s × 30 video frames and × 43.07 audio frames.
      #expect(files.map { $0.duration.seconds.rounded() } == [3600])
      #expect(test.recorder.status.videoSamplesDropped == 0)
      let tables = try self.residentMemory() - afterMinute
      #expect(tables < 48 << 20, "4 bytes a sample, and what the allocator keeps: \(tables >> 10) KiB")

      let copyBegin = ContinuousClock.now
      try self.copy(path, to: "\(folder)/copy.mp4")
      let copyDuration = ContinuousClock.now - copyBegin
      // 2 s a GB beyond the copy, for the tenth of one that this is; the rest is a debug build's 263 000 samples.
      #expect(duration < copyDuration + .seconds(10), "\(duration), a copy takes \(copyDuration)")
    }
  }

  private func copy(_ path: String, to copy: String) throws {
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    let handle = try FileHandle(forUpdating: URL(filePath: copy))
    try handle.synchronize()
    try handle.close()
  }
}
