import Capture
import Effects
import Foundation
import Media
import NIOCore
import Streaming
import Synchronization
import TestSupport
import Testing

@testable import Recording

@Suite("Snapshot folders", .timeLimit(.minutes(5)))
struct SnapshotFolderTests {
  /// Runs a stream whose face tracker reports a smile whenever a test requests one.
  private func run(
    _ body: (LiveStream, String, _ smile: @Sendable () -> Void) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "vidicon-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }  // Best effort.
    let smiles = Mutex(0)
    let stream = LiveStream("a/b", video: VideoSettings(width: 64, height: 48))
    stream.attachVideo(PlasmaCapturer(width: 64, height: 48))
    stream.effects = [
      ClosureEffect { frame in
        let count = smiles.withLock { count in
          defer { count = 0 }
          return count
        }
        let box = Face.Box(x: 0, y: 0, width: 1, height: 1)
        frame.metadata.faceTracking = .current
        frame.metadata.faceEvents = (0..<count).map { FaceEvent(.smile, face: $0, time: frame.timestamp, box: box) }
        return .keep
      }
    ]
    try await stream.start()
    try await body(stream, folder) { smiles.withLock { $0 += 1 } }
    await stream.stop()
  }

  @Test func `each snapshot is named by stream and time, is complete, and overwrites none`() async throws {
    try await self.run { stream, folder, _ in
      var paths: [String] = []
      for _ in 0..<5 { paths.append(try await SnapshotFolder(folder).saveSnapshot(of: stream)) }
      #expect(Set(paths).count == 5)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(Set(names.map { "\(folder)/\($0)" }) == Set(paths))
      for name in names {
        #expect(name.wholeMatch(of: /a-b_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d(-\d+)?\.jpg/) != nil, "\(name)")
        let bytes = try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
        #expect(bytes.prefix(2) == Data([0xFF, 0xD8]) && bytes.suffix(2) == Data([0xFF, 0xD9]))
      }
    }
  }

  @Test func `a smile saves one snapshot, and several smiles at once save one`() async throws {
    try await self.run { stream, folder, smile in
      let results = Mutex<[Result<String, VidiconError>]>([])
      let keeper = Task {
        await SnapshotFolder(folder).saveSmiles(of: stream) { result in results.withLock { $0.append(result) } }
      }
      // The start of the subscription is not observable, so smiles repeat until one is saved.
      var laughs = 0
      try await eventually {
        smile()
        smile()
        laughs += 1
        return !results.withLock { $0.isEmpty }
      }
      keeper.cancel()
      await keeper.value
      let count = results.withLock { $0.count }
      #expect(count <= laughs)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == count)
    }
  }

  @Test func `a name that a thousand files have gets the next number`() async throws {
    let time: Int64 = 1_700_000_000_000_000_000
    try await withTemporaryFolder { path in
      let folder = SnapshotFolder(path)
      let jpeg = ByteBuffer(bytes: [0xFF, 0xD8, 0xFF, 0xD9])
      let first = try folder.write(jpeg, of: "live", atUnixTime: time)
      for number in 2...1000 { try Data().write(to: URL(filePath: FilePattern.numbered(first, number))) }
      for number in 1001...1002 {
        #expect(try folder.write(jpeg, of: "live", atUnixTime: time) == FilePattern.numbered(first, number))
      }
    }
  }

  @Test func `a missing folder is reported`() async throws {
    try await self.run { stream, folder, _ in
      await #expect {
        _ = try await SnapshotFolder("\(folder)/none").saveSnapshot(of: stream)
      } throws: { error in
        (error as? VidiconError)?.code == .notFound
      }
    }
  }
}
