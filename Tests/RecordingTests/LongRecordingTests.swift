import Foundation
import Media
import NIOCore
import TestSupport
import Testing

@testable import Recording

@Suite("Long recordings", .serialized)
struct LongRecordingTests {
  /// Resident memory of this process, in bytes.
  private static func residentMemory() throws -> Int {
    let text = try String(systemFile: "/proc/self/statm")
    return try #require(Int(text.split(separator: " ")[1])) * Int(getpagesize())
  }

  @Test func `an hour takes as much memory as a minute, and finishing takes little more than a copy`() async throws {
    // A process of its own: others run beside it here, whose memory would be measured too.
    await #expect(processExitsWith: .success) {
      try await withTemporaryFolder { folder in
        let path = "\(folder)/out.mp4"
        let script = StreamScript(frameByteCount: 1000)
        let test = TestRecorder(RecordingSettings(try FilePattern(path)), descriptions: script.descriptions)
        _ = try await test.recorder.start(at: StreamScript.start)
        var videoFrame: Int64 = 0
        var audioFrame: Int64 = 0
        var afterMinute = 0
        for second in Int64(1)...3600 {
          let end = StreamScript.start + .seconds(second)
          while case let sample = script.videoFrame(videoFrame), sample.presentationTime < end {
            test.feed(CollectionOfOne(sample))
            videoFrame += 1
          }
          while case let sample = script.audioFrame(audioFrame), sample.presentationTime < end {
            test.feed(CollectionOfOne(sample))
            audioFrame += 1
          }
          // Waits for the queue, as if the disk kept up.
          try await eventually { test.recorder.status.queuedByteCount <= 1 << 20 }
          if second == 60 { afterMinute = try Self.residentMemory() }
        }
        let grown = try Self.residentMemory() - afterMinute
        #expect(grown < 24 << 20, "\(grown >> 10) KiB more")

        let begin = ContinuousClock.now
        let files = await test.recorder.stop(at: StreamScript.start + .seconds(3600))
        let duration = ContinuousClock.now - begin
        // 3600 s of 30 video frames and 43.07 audio frames per second.
        #expect(files.map { $0.duration.seconds.rounded() } == [3600])
        #expect(test.recorder.status.videoSamplesDropped == 0)
        let tables = try Self.residentMemory() - afterMinute
        #expect(tables < 48 << 20, "4 bytes a sample, and what the allocator keeps: \(tables >> 10) KiB")

        let copyBegin = ContinuousClock.now
        try Self.copy(path, to: "\(folder)/copy.mp4")
        let copyDuration = ContinuousClock.now - copyBegin
        // 2 s per GB more than a copy, for this tenth of a GB; the rest covers a debug build's 263,000 samples.
        #expect(onQuietMachine(duration < copyDuration + .seconds(10)), "\(duration), a copy takes \(copyDuration)")
      }
    }
  }

  private static func copy(_ path: String, to copy: String) throws {
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    let handle = try FileHandle(forUpdating: URL(filePath: copy))
    try handle.synchronize()
    try handle.close()
  }
}
