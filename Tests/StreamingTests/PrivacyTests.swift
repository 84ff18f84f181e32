import Dispatch
import Media
import Synchronization
import TestSupport
import Testing
import Threading

@testable import Effects
@testable import Streaming

/// Privacy fails closed: while face positions are unknown, viewers see nothing of the frame.
@Suite("Privacy of a live stream", .timeLimit(.minutes(5)))
struct PrivacyTests {
  private let stage = LiveStreamEffectsTests()

  /// The luma of a covered frame.
  private static let isCovered = LiveStreamEffectsTests.near(40)

  @Test(arguments: [FaceTracker.Detection.background, .everyFrame])
  func `a detector that fails leaves the frame covered, and the stream continues`(
    detection: FaceTracker.Detection
  ) async throws {
    let isAlive = Mutex(true)
    let tracker = try FaceTracker(models: FaceModels(), settings: .init(detection: detection)) { _, _ in
      isAlive.withLock { $0 }
    }
    let stream = try await self.stage.startedStream([tracker, PrivacyMask()])
    // The detector has found that there are no faces.
    while !LiveStreamEffectsTests.near(220)(self.stage.output.lumas.last ?? 0) { self.stage.show() }
    isAlive.withLock { $0 = false }
    while !Self.isCovered(self.stage.output.lumas.last ?? 0) { self.stage.show() }
    for _ in 0..<10 { self.stage.show() }
    #expect(self.stage.output.lumas.suffix(10).allSatisfy(Self.isCovered))
    #expect(stream.isRunning && stream.statistics.totalFramesDropped == 0)
    await stream.stop()
  }

  @Test func `a detector that hangs leaves the frame covered`() async throws {
    let gate = DispatchSemaphore(value: 0)
    let tracker = try FaceTracker(models: FaceModels(), settings: .init(detection: .background)) { _, _ in
      gate.wait()
      return true
    }
    let stream = try await self.stage.startedStream([tracker, PrivacyMask()])
    for _ in 0..<10 { self.stage.show() }
    #expect(self.stage.output.lumas.allSatisfy(Self.isCovered))
    gate.signal()
    await stream.stop()
  }

  @Test func `no frame of another source, or after the slate, is shown before it is analysed`() async throws {
    // Bright areas are faces, which are unknown when a frame arrives.
    let looks = Mutex(0)
    let tracker = try FaceTracker(models: FaceModels(), settings: .init(detection: .everyFrame)) { _, _ in
      looks.withLock { $0 += 1 }
      return false
    }
    let stream = try await self.stage.startedStream(
      [tracker, PrivacyMask()], VideoSettings(sourceTimeout: .milliseconds(300)))
    let other = ScriptedVideoCapturer(format: VideoFormat(width: 128, height: 96))
    async let change: Void = stream.switchVideo(to: other)
    try await stream.eventually { other.isStarted }
    other.deliver(at: StreamClock.system.now(), luma: 220)
    try await change
    try await stream.eventually { looks.withLock { $0 } >= 2 && stream.statistics.isSlateShown }
    self.stage.show(by: other)
    try await stream.eventually { looks.withLock { $0 } >= 3 }
    // The slate is as dark as the cover, except for its text.
    #expect(self.stage.output.lumas.allSatisfy { $0 < 200 }, "\(self.stage.output.lumas)")
    await stream.stop()
  }

  @Test func `without a tracker the whole frame is covered`() async throws {
    let stream = try await self.stage.startedStream([PrivacyMask()])
    for _ in 0..<3 { self.stage.show() }
    #expect(self.stage.output.lumas.allSatisfy(Self.isCovered))
    await stream.stop()
  }
}
