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

  /// Delivers a frame, and waits until effects have processed it; it may be held back.
  private func offer(to stream: LiveStream) async throws {
    let count = stream.statistics.framesWithEffects
    self.stage.source.deliver(at: StreamClock.system.now(), luma: 220)
    try await stream.eventually { stream.statistics.framesWithEffects > count }
  }

  /// The luma of a covered frame.
  private static let isCovered = LiveStreamEffectsTests.near(40)

  @Test func `a detector that fails leaves the frame covered, and the stream continues`() async throws {
    let isAlive = Mutex(true)
    let mask = PrivacyMask { { _, _ in isAlive.withLock { $0 } } }
    let stream = try await self.stage.startedStream([mask])
    // The detector has found that there are no faces.
    while !LiveStreamEffectsTests.near(220)(self.stage.output.lumas.last ?? 0) { self.stage.show() }
    isAlive.withLock { $0 = false }
    while !Self.isCovered(self.stage.output.lumas.last ?? 0) { try await self.offer(to: stream) }
    let count = self.stage.output.lumas.count
    for _ in 0..<12 { try await self.offer(to: stream) }
    #expect(self.stage.output.lumas(atLeast: count + 10).suffix(10).allSatisfy(Self.isCovered))
    #expect(stream.isRunning && stream.statistics.totalFramesDropped == 0)
    await stream.stop()
  }

  @Test func `a detector that hangs leaves the frame covered`() async throws {
    let gate = DispatchSemaphore(value: 0)
    let mask = PrivacyMask {
      { _, _ in
        gate.wait()
        gate.signal()
        return true
      }
    }
    let stream = try await self.stage.startedStream([mask])
    for _ in 0..<3 { try await self.offer(to: stream) }
    #expect(self.stage.output.lumas(atLeast: 1).allSatisfy(Self.isCovered))
    // It still hangs.
    #expect(await withTimeout(.seconds(20)) { await stream.stop() } != nil)
    gate.signal()
  }

  @Test func `no frame of another source, or after the slate, is shown before it is analyzed`() async throws {
    // Bright areas are faces, which are unknown when a frame arrives.
    let looks = Mutex(0)
    let mask = PrivacyMask {
      { _, _ in
        looks.withLock { $0 += 1 }
        return false
      }
    }
    let stream = try await self.stage.startedStream([mask], VideoSettings(sourceTimeout: .milliseconds(300)))
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

  @Test(arguments: [Orientation.right, .down, .left])
  func `a frame that is rotated or mirrored is searched again`(rotation: Orientation) async throws {
    let isAlive = Mutex(true)
    let mask = PrivacyMask { { _, _ in isAlive.withLock { $0 } } }
    let stream = try await self.stage.startedStream([mask])
    while !LiveStreamEffectsTests.near(220)(self.stage.output.lumas.last ?? 0) { self.stage.show() }
    // From here on no search succeeds: what was searched in another orientation must not be shown in this one.
    isAlive.withLock { $0 = false }
    let count = stream.statistics.framesWithEffects
    let shown = self.stage.output.lumas.count
    stream.rotation = rotation
    stream.isMirrored.toggle()
    try await stream.eventually { stream.statistics.framesWithEffects > count }
    for _ in 0..<6 { try await self.offer(to: stream) }
    // Frames that were held back before the change may precede it.
    let after = self.stage.output.lumas(atLeast: shown + 4).dropFirst(shown)
    let first = try #require(after.firstIndex(where: Self.isCovered))
    #expect(first - after.startIndex <= 3 && after[first...].allSatisfy(Self.isCovered), "\(after)")
    await stream.stop()
  }

  /// Output that counts requests to discard what it keeps, and the samples since the last.
  private final class Keeping: StreamOutput {
    private let state = Mutex((discards: 0, isKeyframe: [Bool]()))
    var discards: Int { self.state.withLock { $0.discards } }
    var isKeyframe: [Bool] { self.state.withLock { $0.isKeyframe } }

    func consume(_ sample: EncodedSample) { self.state.withLock { $0.isKeyframe.append(sample.isKeyframe) } }
    func discardEarlier() { self.state.withLock { $0 = ($0.discards + 1, []) } }
    func streamEnded() {}
  }

  @Test func `when faces become private outputs discard earlier frames, and continue with a keyframe`() async throws {
    let stream = try await self.stage.startedStream([])
    let keeping = Keeping()
    stream.add(keeping)
    for _ in 0..<3 { self.stage.show() }
    #expect(keeping.discards == 0)
    _ = try await stream.snapshots.snapshot()
    stream.effects = [PrivacyMask()]
    // A frame that follows may be there already.
    #expect(keeping.discards >= 1 && keeping.isKeyframe.first != false)
    // The image of an earlier frame is not delivered any more, although it is young: the next one is covered.
    async let image = stream.snapshots.snapshot()
    // A keyframe follows, half a second after the last one.
    repeat { self.stage.show() } while !keeping.isKeyframe.contains(true)
    let snapshot = try await image
    #expect(snapshot == (try self.stage.file(luma: 40)))
    #expect(keeping.discards == 2)
    #expect(Self.isCovered(self.stage.output.lumas.last ?? 0))
    // Changes among privacy effects discard nothing.
    stream.effects = [PrivacyMask(), PrivacyMask()]
    self.stage.show()
    #expect(keeping.discards == 2)
    await stream.stop()
  }

  @Test func `without a tracker the whole frame is covered`() async throws {
    let stream = try await self.stage.startedStream([PrivacyMask()])
    for _ in 0..<3 { self.stage.show() }
    #expect(self.stage.output.lumas.allSatisfy(Self.isCovered))
    await stream.stop()
  }
}
