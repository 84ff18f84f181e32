import Foundation
import Media
import Streaming
import Synchronization
import TestSupport
import Threading

@testable import Recording

/// Recorder whose samples a test supplies.
final class TestRecorder: Sendable {
  let recorder: Recorder
  private let outputs = Mutex<[any StreamOutput]>([])
  private let formats: Mutex<[CodecDescription]>
  private let requests = Mutex(0)

  /// - Parameter onRemove: Called on the thread of a recording that has ended, before its files are finished.
  init(
    _ settings: RecordingSettings, descriptions: [CodecDescription], name: String = "live",
    isClockSynchronized: Bool = true, clock: @escaping @Sendable () -> Int64 = { 1_790_000_000_000_000_000 },
    onRemove: @escaping @Sendable () -> Void = {}
  ) {
    self.formats = Mutex(descriptions)
    let link = Link()
    self.recorder = Recorder(
      RecordingSource(
        name: name, descriptions: { link.owner?.formats.withLock { $0 } ?? [] },
        requestKeyframe: { link.owner?.requests.withLock { $0 += 1 } },
        add: { output in link.owner?.outputs.withLock { $0.append(output) } },
        remove: { output in
          link.owner?.outputs.withLock { $0.removeAll { $0 === output } }
          onRemove()
        }),
      settings: settings, clock: WallClock(now: clock, isSynchronized: { isClockSynchronized }))
    link.set(self)
  }

  /// Weak reference from the recorder's source to the test recorder.
  private final class Link: Sendable {
    private let weakOwner = Mutex<Weak>(Weak())
    struct Weak: Sendable { weak var owner: TestRecorder? }

    var owner: TestRecorder? { self.weakOwner.withLock { $0.owner } }
    func set(_ owner: TestRecorder) { self.weakOwner.withLock { $0.owner = owner } }
  }

  var keyframeRequests: Int { self.requests.withLock { $0 } }
  var isAttached: Bool { self.outputs.withLock { !$0.isEmpty } }

  /// Changes the codec description of a track.
  func change(to description: CodecDescription) {
    self.formats.withLock { formats in
      for index in formats.indices where formats[index].kind == description.kind { formats[index] = description }
    }
    for output in self.outputs.withLock({ $0 }) { output.descriptionChanged(to: description) }
  }

  func feed(_ samples: some Sequence<EncodedSample>) {
    let outputs = self.outputs.withLock { $0 }
    for sample in samples {
      for output in outputs { output.consume(sample) }
    }
  }

  func endStream() {
    for output in self.outputs.withLock({ $0 }) { output.streamEnded() }
  }
}

/// Runs `body` with a temporary folder, which is removed afterwards.
func withTemporaryFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  let folder = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try await body(folder.path)
}

func names(in folder: String) -> [String] { Folder.names(in: folder) }

extension EncodedStream {
  /// Bytes of a recording of the first seconds, as a crash leaves it.
  func unfinishedFile(seconds: Double) async throws -> Data {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      let test = TestRecorder(RecordingSettings(try FilePattern(path)), descriptions: self.descriptions)
      _ = try await test.recorder.start(at: EncodedStream.start)
      test.feed(self.samples.filter { $0.presentationTime < EncodedStream.time(seconds) })
      try test.recorder.pause(at: EncodedStream.time(seconds))
      try await eventually { test.recorder.status.state == .paused }
      let bytes = try Data(contentsOf: URL(filePath: path))
      await test.recorder.stop()
      return bytes
    }
  }
}
