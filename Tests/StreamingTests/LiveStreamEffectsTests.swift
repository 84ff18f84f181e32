import Capture
import Codecs
import Effects
import Media
import NIOCore
import Synchronization
import TestSupport
import Testing
import Threading

@testable import Streaming

@Suite("Effects of a live stream", .timeLimit(.minutes(5)))
struct LiveStreamEffectsTests {
  let source = ScriptedVideoCapturer()
  let output = ViewingOutput()

  /// Settings of a stream that waits for another source, however slow the machine is.
  ///
  /// - Parameter slate: Time without a frame after which the slate is shown.
  static func patient(slate: MediaDuration = .seconds(1000)) -> VideoSettings {
    var settings = VideoSettings(sourceTimeout: slate)
    settings.switchTimeouts.start = .seconds(1000)
    settings.switchTimeouts.firstItem = .seconds(1000)
    return settings
  }

  /// A stream whose first frame, of brightness 220, has reached viewers.
  func startedStream(
    _ effects: [any VideoEffect], _ settings: VideoSettings = Self.patient()
  ) async throws -> LiveStream {
    let stream = LiveStream("test", video: settings)
    stream.attachVideo(self.source)
    stream.add(self.output)
    stream.effects = effects
    async let start: Void = stream.start()
    try await stream.eventually { self.source.isStarted }
    self.source.deliver(at: StreamClock.system.now(), luma: 220)
    try await start
    return stream
  }

  /// Delivers a frame, and waits until viewers have received it; frames that are drawn again after a change of effects do not count.
  func show(luma: UInt8 = 220, format: VideoFormat? = nil, by source: ScriptedVideoCapturer? = nil) {
    // Behind all frames: the first one of another source is ahead of the clock, and would be waited for instead.
    let time = max(StreamClock.system.now(), self.output.next)
    (source ?? self.source).deliver(at: time, format: format, luma: luma)
    self.output.wait(for: time)
  }

  /// The JPEG file of a gray frame.
  func file(luma: UInt8) throws -> ByteBuffer {
    let buffer = PixelBuffer(format: self.source.format)
    for plane in 0..<3 {
      buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: plane == 0 ? luma : 128)
    }
    return try JPEGEncoder(format: buffer.format).encode(
      ReleasedFrame(notPrivate: VideoFrame(buffer: buffer, timestamp: .zero)))
  }

  static func near(_ luma: UInt8) -> @Sendable (UInt8) -> Bool {
    { abs(Int($0) - Int(luma)) < 8 }
  }

  @Test func `effects change without a dropped frame, and each frame passes those of its time`() async throws {
    let stream = try await self.startedStream([])
    for luma: UInt8 in [40, 90, 140, 190] {
      stream.effects = [Paint(30), Paint(luma)]
      for _ in 0..<5 { self.show() }
      #expect(self.output.lumas.suffix(5).allSatisfy(Self.near(luma)), "\(self.output.lumas)")
      stream.effects.removeAll()
      self.show()
      #expect(self.output.lumas.suffix(1).allSatisfy(Self.near(220)), "\(self.output.lumas)")
    }
    let statistics = stream.statistics
    #expect(statistics.totalFramesDropped == 0 && self.source.drops == [])
    #expect(statistics.framesIn == 25 && statistics.framesWithEffects >= 20)
    #expect(statistics.effectTime > .zero)
    await stream.stop()
  }

  @Test func `the source's memory is never modified, and a few frame buffers are reused`() async throws {
    let paint = Paint(40)
    let stream = try await self.startedStream([paint])
    let pool = VideoFramePool(format: self.source.format)
    let frame = try #require(
      pool.frame(at: .zero) { buffer in
        for plane in 0..<3 { buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: 200) }
      })
    for _ in 0..<30 {
      var next = frame
      next.timestamp = StreamClock.system.now()
      let count = self.output.lumas.count
      self.source.deliver(next)
      _ = self.output.lumas(atLeast: count + 1)
    }
    for plane in 0..<3 { #expect(frame.withPlane(plane) { $0.allSatisfy { $0 == 200 } }) }
    #expect(paint.lumas.suffix(30) == ArraySlice(repeatElement(200, count: 30)))
    #expect(paint.bufferCount <= 6)
    await stream.stop()
  }

  @Test func `snapshots, motion JPEG and the frame of a pause include the effects`() async throws {
    let stream = try await self.startedStream(
      [Paint(40)], VideoSettings(keyframeInterval: .seconds(100), sourceTimeout: .seconds(1000)))
    let covered = try self.file(luma: 40)
    #expect(try await stream.snapshots.snapshot() == covered)
    var motion = stream.snapshots.motionJPEG(frameRate: 30).makeAsyncIterator()
    #expect(await motion.next() == covered)
    stream.isEncodingPaused = true
    self.source.deliver(at: StreamClock.system.now(), luma: 220)
    let count = self.output.lumas.count
    stream.requestKeyframe()
    #expect(self.output.lumas(atLeast: count + 1).allSatisfy(Self.near(40)))
    #expect(try await stream.snapshots.snapshot() == covered)
    await stream.stop()
  }

  @Test func `effects that are set while encoding is paused are visible at once`() async throws {
    let stream = try await self.startedStream(
      [], VideoSettings(keyframeInterval: .seconds(100), sourceTimeout: .seconds(1000)))
    stream.isEncodingPaused = true
    stream.effects = [Paint(40)]
    let began = ContinuousClock.now
    #expect(Self.near(40)(try #require(self.output.lumas(atLeast: 2).last)))
    #expect(
      onQuietMachine(ContinuousClock.now - began < .milliseconds(1900)), "a paused stream encodes every two seconds")
    #expect(try await stream.snapshots.snapshot() == self.file(luma: 40))
    await stream.stop()
  }

  @Test func `an effect that drops frames hides them from viewers only, and the slate replaces them`() async throws {
    let isDropping = Mutex(false)
    let stream = try await self.startedStream(
      [ClosureEffect("gate") { _ in isDropping.withLock { $0 } ? .drop : .keep }],
      VideoSettings(sourceTimeout: .milliseconds(200)))
    isDropping.withLock { $0 = true }
    // Ahead of the slate, which may be encoded with the current time until a frame is processed.
    let ahead = MediaDuration.milliseconds(90)
    // One frame at a time, so that none is dropped because the queue is full.
    var delivered = 0
    while !stream.statistics.isSlateShown || delivered == 0 {
      try Task.checkCancellation()
      self.source.deliver(at: StreamClock.system.now() + ahead, luma: 220)
      delivered += 1
      try await stream.eventually { stream.statistics.framesDroppedByEffects >= delivered }
    }
    isDropping.withLock { $0 = false }
    while stream.statistics.isSlateShown {
      try Task.checkCancellation()
      let processed = stream.statistics.framesWithEffects
      self.source.deliver(at: StreamClock.system.now() + ahead, luma: 220)
      try await stream.eventually { stream.statistics.framesWithEffects > processed }
    }
    #expect(self.source.drops == [], "drops of an effect are not drops of the source")
    await stream.stop()
  }

  @Test func `a stream whose effects drop all frames starts with the slate`() async throws {
    let stream = try await self.startedStream(
      [ClosureEffect { _ in .drop }], VideoSettings(sourceTimeout: .milliseconds(100)))
    #expect(stream.statistics.isSlateShown)
    await stream.stop()
  }

  @Test func `an effect that throws is reported once, and the frames continue`() async throws {
    struct Broken: Error, CustomStringConvertible { let description = "out of paint" }
    let stream = try await self.startedStream([ClosureEffect("paint") { _ in throw Broken() }])
    for _ in 0..<3 { self.show() }
    #expect(self.output.lumas.allSatisfy(Self.near(220)))
    #expect(stream.statistics.effects.map(\.failures) == [self.output.lumas.count])
    await stream.stop()
    var events: [StreamEvent] = []
    for await event in stream.events { events.append(event) }
    #expect(events == [.effect(EffectReport(name: "paint", kind: .failed(cause: "out of paint")))])
  }

  @Test func `effects are prepared again when another source takes over, or the frame is rotated`() async throws {
    let paint = Paint(40)
    let stream = try await self.startedStream([paint])
    self.show()
    #expect(paint.formats.count == 1)
    let other = ScriptedVideoCapturer(format: VideoFormat(width: 32, height: 32))
    async let change: Void = stream.switchVideo(to: other)
    try await stream.eventually { other.isStarted }
    other.deliver(at: self.output.next, luma: 220)
    try await change
    self.show(by: other)
    #expect(paint.formats.map(\.width) == [64, 64])
    stream.rotation = .down
    self.show(by: other)
    #expect(paint.formats.count == 3)
    #expect(self.output.lumas.allSatisfy(Self.near(40)))
    await stream.stop()
  }

  @Test func `all built-in effects accept frames of any size, and size changes`() async throws {
    let image = OverlayImage(width: 1, height: 1, pixels: [255, 0, 0, 128])
    var settings = EffectSettings()
    (settings.faces, settings.mask, settings.smooth) = (.boxes, .image, 0.5)
    (settings.overlay, settings.clock, settings.color.brightness) = (.init(), true, 0.1)
    let factory = EffectFactory(images: [.mask: image, .overlay: image])
    let more: [any VideoEffect] = [Mirror(), Rotate(.right), Crop(x: 0.1, y: 0.1, width: 0.5, height: 0.7)]
    let stream = try await self.startedStream(try factory.effects(for: settings) + more)
    for (width, height) in [(32, 32), (33, 31), (1, 1), (641, 3), (4096, 2160)] {
      for pixels: PixelFormat in [.i420, .nv12, .rgb24] {
        let format = VideoFormat(width: width, height: height, pixelFormat: pixels)
        self.source.announce(format)
        self.show(format: format)
        // Other tests wait for the thread that this one blocks.
        await Task.yield()
      }
    }
    let statistics = stream.statistics.effects
    #expect(statistics.count == 10 && statistics.allSatisfy { $0.frames >= 16 }, "\(statistics)")
    await stream.stop()
    // A search for faces that other tests delay for two seconds is reported; it has nothing to do with the size.
    for await case .effect(let report) in stream.events {
      guard case .failed(let cause) = report.kind else { continue }
      #expect(report.name == "FaceTracker" && cause.hasPrefix("the search for faces is behind"), "\(report)")
    }
    let others = statistics.filter { $0.name != "FaceTracker" }
    #expect(others.count == 9 && others.allSatisfy { $0.failures == 0 }, "\(others)")
  }

  @Test func `metadata is reported before its frame, and once more after the last face has left`() async throws {
    let box = Face.Box(x: 1, y: 2, width: 3, height: 4)
    let finder = ClosureEffect("finder") { frame in
      if frame.metadata.faces.isEmpty {
        frame.metadata.faceEvents = [FaceEvent(.entered, face: 7, time: frame.timestamp, box: box)]
      }
      frame.metadata.faceTracking = .current
      return .keep
    }
    let stream = try await self.startedStream([])
    var (events, metadata) = (stream.faceEvents.makeAsyncIterator(), stream.metadata().makeAsyncIterator())
    self.show()
    #expect(self.output.metadata == [])
    let unreported = self.output.unreported
    stream.effects = [finder]
    self.show()
    #expect(self.output.unreported == unreported)
    let reported = try #require(self.output.metadata.first)
    #expect((reported.width, reported.height) == (64, 48) && reported.metadata.faceEvents.map(\.kind) == [.entered])
    #expect(await metadata.next() == reported)
    #expect(await events.next() == reported.metadata.faceEvents.first)
    stream.effects = []
    self.show()
    self.show()
    // No effect looks for faces any more.
    let last = try #require(self.output.metadata.last)
    #expect(last.metadata.faceEvents.map(\.kind) == [.left] && last.metadata.faceTracking == nil)
    #expect(self.output.metadata.count(where: { $0.metadata.faceTracking == nil }) == 1)
    await stream.stop()
    while await events.next() != nil {}
    while await metadata.next() != nil {}
    var late = stream.faceEvents.makeAsyncIterator()
    #expect(await late.next() == nil)
  }

  @Test func `a compressed source is decoded while effects are set, and passed through again without`() async throws {
    try await PassThroughTests.run { stream, output, samples, description, deliver in
      deliver(1..<5)
      _ = output.samples(atLeast: 5)
      #expect(stream.statistics.framesPassedThrough == 5)
      stream.add(self.output)
      stream.effects = [Paint(40)]
      for index in 5..<9 {
        deliver(index..<index + 1)
        _ = output.samples(atLeast: index + 1)
      }
      #expect(stream.statistics.framesPassedThrough == 5 && stream.statistics.videoEncoders == 1)
      let lumas = self.output.lumas(atLeast: 4)
      #expect(lumas.count >= 4 && lumas.allSatisfy(Self.near(40)))
      #expect(self.output.metadata.count >= 4)
      stream.effects = []
      deliver(9..<10)
      try await stream.eventually { stream.statistics.videoFramesQueued == 0 }
      deliver(10..<15)
      try await stream.eventually {
        stream.statistics.framesPassedThrough == 10 && output.samples.last?.payload == samples[14].payload
      }
      #expect(output.samples.suffix(5).map(\.payload) == samples[10..<15].map(\.payload))
      #expect(stream.statistics.videoEncoders == 0 && PassThroughTests.isRising(output.samples))
    }
  }
}
