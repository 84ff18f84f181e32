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
  private func offer(to stream: LiveStream, format: VideoFormat? = nil) async throws {
    let count = stream.statistics.framesWithEffects
    self.stage.source.deliver(at: StreamClock.system.now(), format: format, luma: 220)
    try await stream.eventually { stream.statistics.framesWithEffects > count }
  }

  /// Delivers frames until viewers see one whose luma is as expected.
  private func offer(to stream: LiveStream, until isExpected: (UInt8) -> Bool) async throws {
    while !isExpected(self.stage.output.lumas.last ?? 0) {
      try Task.checkCancellation()
      try await self.offer(to: stream)
    }
  }

  /// The luma of a covered frame.
  private static let isCovered = LiveStreamEffectsTests.near(40)

  @Test func `a detector that fails leaves the frame covered, and the stream continues`() async throws {
    let isAlive = Mutex(true)
    let mask = PrivacyMask { { _, _ in isAlive.withLock { $0 } } }
    let stream = try await self.stage.startedStream([mask])
    // The detector has found that there are no faces.
    try await self.offer(to: stream, until: LiveStreamEffectsTests.near(220))
    isAlive.withLock { $0 = false }
    try await self.offer(to: stream, until: Self.isCovered)
    let count = self.stage.output.lumas.count
    for _ in 0..<12 { try await self.offer(to: stream) }
    #expect(self.stage.output.lumas(atLeast: count + 10).suffix(10).allSatisfy(Self.isCovered))
    #expect(stream.isRunning && stream.statistics.totalFramesDropped == 0)
    await stream.stop()
  }

  @Test func `a detector that hangs leaves the frame covered`() async throws {
    let gate = DispatchSemaphore(value: 0)
    let answers = Mutex(0)
    let mask = PrivacyMask {
      { _, _ in
        gate.waitWithLimit()
        answers.withLock { $0 += 1 }
        gate.signal()
        return true
      }
    }
    let stream = try await self.stage.startedStream([mask])
    for _ in 0..<3 { try await self.offer(to: stream) }
    #expect(self.stage.output.lumas(atLeast: 1).allSatisfy(Self.isCovered))
    await stream.stop()
    // The detector still hangs.
    #expect(answers.withLock { $0 } == 0)
    gate.signal()
  }

  /// A detector that hangs from when `isHanging` is set until it is reset; a frame waits for it for ten minutes.
  private final class HangingDetector: Sendable {
    private let state = Mutex((isHanging: false, looks: 0, answers: 0))
    private let gate = DispatchSemaphore(value: 0)

    /// Number of times that it has begun to hang.
    var looks: Int { self.state.withLock(\.looks) }
    /// Number of times that it has answered after it had hung.
    var answers: Int { self.state.withLock(\.answers) }

    func mask() -> PrivacyMask {
      PrivacyMask(limits: .unlimited) {
        { _, _ in
          let isHanging = self.state.withLock { state in
            if state.isHanging { state.looks += 1 }
            return state.isHanging
          }
          guard isHanging else { return true }
          self.gate.waitWithLimit()
          self.state.withLock { $0.answers += 1 }
          self.gate.signal()
          return true
        }
      }
    }

    func hang() { self.state.withLock { $0.isHanging = true } }

    func answer() {
      self.state.withLock { $0.isHanging = false }
      self.gate.signal()
    }
  }

  @Test(arguments: [false, true])
  func `a stream whose detector hangs stops at once, and shows nothing`(isRemoved: Bool) async throws {
    let detector = HangingDetector()
    let stream = try await self.stage.startedStream([detector.mask()])
    detector.hang()
    let count = self.stage.output.lumas.count
    self.stage.source.deliver(at: StreamClock.system.now(), luma: 100)
    try await stream.eventually { detector.looks > 0 }
    // The frame stays in the effect that was just switched off.
    if isRemoved { stream.effects = [] }
    await stream.stop()
    #expect(detector.answers == 0)
    #expect(self.stage.output.lumas.dropFirst(count).allSatisfy(Self.isCovered))
    detector.answer()
  }

  @Test func `a stream whose detector hangs in the first frame stops while it starts`() async throws {
    let detector = HangingDetector()
    detector.hang()
    let stream = LiveStream("test", video: VideoSettings(sourceTimeout: .seconds(1000)))
    stream.attachVideo(self.stage.source)
    stream.add(self.stage.output)
    stream.effects = [detector.mask()]
    let start = Task { try await stream.start() }
    try await stream.eventually { self.stage.source.isStarted }
    self.stage.source.deliver(at: StreamClock.system.now(), luma: 100)
    try await stream.eventually { detector.looks > 0 }
    await stream.stop()
    let result = await start.result
    #expect(throws: VidiconError.self) { try result.get() }
    #expect(detector.answers == 0)
    #expect(self.stage.output.lumas.map(Self.isCovered) == [true])
    detector.answer()
  }

  /// Effect that holds a frame until it is released, and then fills it with a luma, where it has one.
  private final class Blocking: VideoEffect {
    private let state = Mutex((isArmed: false, hasFrame: false))
    private let gate = DispatchSemaphore(value: 0)
    private let luma: UInt8?

    init(luma: UInt8? = nil) {
      self.luma = luma
    }

    /// Whether a frame is held.
    var hasFrame: Bool { self.state.withLock(\.hasFrame) }

    func arm() { self.state.withLock { $0 = (isArmed: true, hasFrame: false) } }
    func release() { self.gate.signal() }

    func process(_ frame: inout EffectFrame) -> EffectVerdict {
      let waits = self.state.withLock { state in
        state.hasFrame = state.isArmed
        defer { state.isArmed = false }
        return state.isArmed
      }
      guard waits else { return .keep }
      self.gate.waitWithLimit()
      if let luma { frame.withPlane(0) { $0.update(repeating: luma) } }
      return .keep
    }
  }

  @Test func `a snapshot and motion JPEG show no frame that was in the effects when faces became private`() async throws
  {
    let blocking = Blocking()
    let stream = try await self.stage.startedStream([blocking])
    let covered = try self.stage.file(luma: 40)
    // The pipeline discards what is encoded with its next event, which is often soon enough.
    for _ in 0..<40 {
      stream.effects = [blocking]
      blocking.arm()
      self.stage.source.deliver(at: StreamClock.system.now(), luma: 220)
      try await stream.eventually { blocking.hasFrame }
      stream.effects = [PrivacyMask()]
      let images = stream.snapshots.motionJPEG(frameRate: 30)
      async let snapshot = stream.snapshots.snapshot()
      // Its thread waits for a frame now.
      try await stream.eventually { stream.snapshots.isFrameWanted }
      blocking.release()
      #expect(try await snapshot == covered)
      #expect(await images.first { _ in true } == covered)
    }
    await stream.stop()
  }

  @Test func `the first private frame does not refer to the one that was lost when frames became private`() async throws
  {
    let blocking = Blocking(luma: 40)
    let stream = try await self.stage.startedStream([blocking])
    for _ in 0..<10 {
      stream.effects = [blocking]
      while !LiveStreamEffectsTests.near(220)(self.stage.output.lumas.last ?? 0) { self.stage.show() }
      blocking.arm()
      self.stage.source.deliver(at: StreamClock.system.now(), luma: 220)
      try await stream.eventually { blocking.hasFrame }
      // The last frame may have been repeated before this one.
      let count = self.stage.output.lumas.count
      // The frame in the effect is encoded, but not output.
      stream.effects = [PrivacyMask()]
      blocking.release()
      for _ in 0..<3 { try await self.offer(to: stream) }
      let lumas = self.stage.output.lumas(atLeast: count + 1).dropFirst(count)
      #expect(!lumas.isEmpty && lumas.allSatisfy(Self.isCovered), "\(lumas)")
    }
    await stream.stop()
  }

  @Test func `the frames that are held back when the source ends are output`() async throws {
    let mask = PrivacyMask(limits: .unlimited) { { _, _ in true } }
    let stream = try await self.stage.startedStream([mask])
    // However busy the machine is, the times are those of a fast source: frames of a slow one are not held back.
    var time = StreamClock.system.now()
    for luma: UInt8 in [200, 180, 160, 140, 120, 100] {
      let count = stream.statistics.framesWithEffects
      time += .milliseconds(10)
      self.stage.source.deliver(at: time, luma: luma)
      try await stream.eventually { stream.statistics.framesWithEffects > count }
    }
    #expect(self.stage.output.lumas.allSatisfy { $0 > 110 })
    self.stage.source.end(nil)
    let lumas = self.stage.output.lumas(atLeast: 8)
    let last = try #require(lumas.firstIndex { LiveStreamEffectsTests.near(100)($0) })
    let before = lumas[..<last].suffix(5)
    #expect(
      before.count == 5
        && zip(before, [200, 180, 160, 140, 120] as [UInt8]).allSatisfy { abs(Int($0) - Int($1)) < 8 }, "\(lumas)")
    await stream.stop()
  }

  @Test func `no frame of another source, or after the slate, is shown before it is analyzed`() async throws {
    // Bright areas are faces, which are unknown when a frame arrives.
    let looks = Mutex(0)
    let mask = PrivacyMask(limits: .unlimited) {
      { _, _ in
        looks.withLock { $0 += 1 }
        return false
      }
    }
    let stream = try await self.stage.startedStream([mask], LiveStreamEffectsTests.patient(slate: .milliseconds(300)))
    var events = stream.events.makeAsyncIterator()
    let other = ScriptedVideoCapturer(format: VideoFormat(width: 128, height: 96))
    async let change: Void = stream.switchVideo(to: other)
    try await stream.eventually { other.isStarted }
    other.deliver(at: self.stage.output.next, luma: 220)
    try await change
    // The slate may have been shown before the switch, too.
    while let event = await events.next(), event != .sourceSwitched(.video) {}
    while let event = await events.next(), event != .sourceSilent {}
    try await stream.eventually { stream.statistics.isSlateShown }
    let (frames, before) = (stream.statistics.framesWithEffects, looks.withLock { $0 })
    var time = MediaTime.zero
    for _ in 0..<100 where stream.statistics.framesWithEffects == frames {
      let drops = other.drops.count
      // Ahead of the slate, which may overtake the frame on a busy machine; then it is dropped.
      time = StreamClock.system.now() + .milliseconds(90)
      other.deliver(at: time, luma: 220)
      try await stream.eventually { stream.statistics.framesWithEffects > frames || other.drops.count > drops }
    }
    self.stage.output.wait(for: time)
    #expect(before >= 2 && looks.withLock { $0 } > before)
    // The slate is as dark as the cover, except for its text.
    #expect(self.stage.output.lumas.allSatisfy { $0 < 200 }, "\(self.stage.output.lumas)")
    await stream.stop()
  }

  @Test(arguments: [Orientation.right, .down, .left])
  func `a frame that is rotated or mirrored is searched again`(rotation: Orientation) async throws {
    let isAlive = Mutex(true)
    let mask = PrivacyMask { { _, _ in isAlive.withLock { $0 } } }
    let stream = try await self.stage.startedStream([mask])
    try await self.offer(to: stream, until: LiveStreamEffectsTests.near(220))
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

  /// Sizes of frames that follow those of 64 × 48.
  private static let sizes = [(96, 32), (128, 96), (48, 64), (32, 24)]

  @Test(arguments: Self.sizes) func `a frame of another size is searched again`(width: Int, height: Int) async throws {
    let isAlive = Mutex(true)
    let mask = PrivacyMask { { _, _ in isAlive.withLock { $0 } } }
    let stream = try await self.stage.startedStream([mask])
    try await self.offer(to: stream, until: LiveStreamEffectsTests.near(220))
    // From here on no search succeeds: what was searched in frames of one size must not be shown in those of another one.
    isAlive.withLock { $0 = false }
    let shown = self.stage.output.lumas.count
    let format = VideoFormat(width: width, height: height)
    self.stage.source.announce(format)
    for _ in 0..<7 { try await self.offer(to: stream, format: format) }
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
    repeat {
      try Task.checkCancellation()
      self.stage.show()
    } while !keeping.isKeyframe.contains(true)
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
