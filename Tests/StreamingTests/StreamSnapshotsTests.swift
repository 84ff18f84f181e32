import Codecs
import Effects
import Media
import NIOCore
import TestSupport
import Testing
import Threading

@testable import Streaming

@Suite("Snapshots of a live stream", .timeLimit(.minutes(5)))
struct StreamSnapshotsTests {
  private let capturer = ScriptedVideoCapturer()
  private let output = CollectingOutput()

  private func startedStream(
    _ settings: VideoSettings = VideoSettings(sourceTimeout: .seconds(1000))
  ) async throws -> LiveStream {
    let stream = LiveStream("test", video: settings)
    stream.attachVideo(self.capturer)
    stream.add(self.output)
    async let start: Void = stream.start()
    try await stream.eventually { self.capturer.isStarted }
    self.capturer.deliver(at: StreamClock.system.now(), luma: 60)
    try await start
    return stream
  }

  /// Delivers a frame and waits until it is encoded.
  private func show(luma: UInt8) {
    let time = StreamClock.system.now()
    self.capturer.deliver(at: time, luma: luma)
    _ = self.output.first { $0.presentationTime == time }
  }

  /// The JPEG file of a gray frame in the capturer's format.
  private func file(luma: UInt8, width: Int? = nil) throws -> ByteBuffer {
    let buffer = PixelBuffer(format: self.capturer.format)
    for plane in 0..<3 {
      buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: plane == 0 ? luma : 128)
    }
    return try JPEGEncoder(format: buffer.format, width: width).encode(
      ReleasedFrame(notPrivate: VideoFrame(buffer: buffer, timestamp: .zero)))
  }

  @Test func `a snapshot is the last frame that viewers got, in the requested width`() async throws {
    let stream = try await self.startedStream()
    #expect(try await stream.snapshots.snapshot() == self.file(luma: 60))
    self.show(luma: 200)
    // The frame before may be returned for a frame interval.
    var snapshot = try await stream.snapshots.snapshot(width: 32)
    #expect(try snapshot == self.file(luma: 200, width: 32))
    self.show(luma: 120)
    while try snapshot == self.file(luma: 200, width: 32) {
      try Task.checkCancellation()
      snapshot = try await stream.snapshots.snapshot(width: 32)
    }
    #expect(try snapshot == self.file(luma: 120, width: 32))
    await stream.stop()
  }

  @Test func `a snapshot of a rendition has its size and shape, and is one of two sizes of a client`() async throws {
    let renditions = [("tall", 24, 40), ("wide", 48, 16)].map {
      RenditionSettings(name: $0.0, width: $0.1, height: $0.2, bitrate: 50_000)
    }
    let stream = try await self.startedStream(
      VideoSettings(keyframeInterval: .seconds(100), sourceTimeout: .seconds(1000), renditions: .list(renditions)))
    let source = self.capturer.format
    let buffer = PixelBuffer(format: source)
    for plane in 0..<3 {
      buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: plane == 0 ? 60 : 128)
    }
    let frame = ReleasedFrame(notPrivate: VideoFrame(buffer: buffer, timestamp: .zero))
    for (rendition, settings) in zip(stream.renditions, renditions) {
      let expected = try JPEGEncoder(format: source, width: settings.width, height: settings.height).encode(frame)
      #expect(try await stream.snapshots.snapshot(width: nil, of: rendition, from: nil) == expected)
      // Another width has the rendition's shape too.
      let half = try JPEGEncoder(format: source, width: 16, height: settings.width == 24 ? 26 : 6).encode(frame)
      #expect(try await stream.snapshots.snapshot(width: 16, of: rendition, from: nil) == half)
      let images = stream.snapshots.motionJPEG(width: nil, of: rendition, frameRate: 30, from: nil)
      #expect(await images.first { _ in true }?.file == expected)
    }
    await stream.stop()
  }

  @Test func `an image that waits for its client while faces become private is known as an earlier one`() async throws {
    let stream = try await self.startedStream()
    var images = stream.snapshots.motionJPEG(width: nil, frameRate: 30, from: nil).makeAsyncIterator()
    let earlier = try #require(await images.next())
    #expect(stream.snapshots.isCurrent(earlier))
    stream.discardEarlier()
    #expect(!stream.snapshots.isCurrent(earlier))
    var image = earlier
    while !stream.snapshots.isCurrent(image) {
      try Task.checkCancellation()
      self.show(luma: 120)
      image = try #require(await images.next())
    }
    await stream.stop()
  }

  @Test func `while encoding is paused the frame stays, also where one is encoded for a new viewer`() async throws {
    let stream = try await self.startedStream(
      VideoSettings(keyframeInterval: .seconds(100), sourceTimeout: .seconds(1000)))
    let first = try #require(self.output.first { _ in true })
    stream.isEncodingPaused = true
    self.capturer.deliver(at: StreamClock.system.now(), luma: 200)
    stream.requestKeyframe()
    _ = self.output.first { $0.presentationTime > first.presentationTime }
    #expect(try await stream.snapshots.snapshot() == self.file(luma: 60))
    stream.isEncodingPaused = false
    self.show(luma: 120)
    var snapshot = try await stream.snapshots.snapshot()
    while try snapshot == self.file(luma: 60) {
      try Task.checkCancellation()
      snapshot = try await stream.snapshots.snapshot()
    }
    #expect(try snapshot == self.file(luma: 120))
    await stream.stop()
  }

  @Test func `a hundred simultaneous snapshots of a still frame are encoded once`() async throws {
    let stream = try await self.startedStream()
    let files = try await withThrowingTaskGroup(of: ByteBuffer.self) { group in
      for _ in 0..<100 { group.addTask { try await stream.snapshots.snapshot() } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let expected = try self.file(luma: 60)
    #expect(files.count == 100 && files.allSatisfy { $0 == expected })
    #expect(stream.snapshots.statistics.imagesEncoded == 1)
    await stream.stop()
  }

  @Test func `while encoding is paused a snapshot shows what viewers see, not the source's frame`() async throws {
    var settings = VideoSettings(keyframeInterval: .seconds(100), sourceTimeout: .seconds(1000))
    // Viewers get the source's frame once in this time.
    settings.pausedInterval = .seconds(1000)
    let stream = try await self.startedStream(settings)
    stream.isEncodingPaused = true
    self.capturer.deliver(at: StreamClock.system.now(), luma: 200)
    #expect(try await stream.snapshots.snapshot() == self.file(luma: 60))
    await stream.stop()
  }

  @Test func `while the slate is shown a snapshot shows it`() async throws {
    let stream = try await self.startedStream(VideoSettings(sourceTimeout: .milliseconds(1)))
    try await stream.eventually { stream.statistics.isSlateShown }
    let encoded = self.output.samples.count
    // A slate that is being encoded, the source's frame, which may wait behind it, and another slate.
    _ = self.output.samples(atLeast: encoded + 3)
    let slate = try JPEGEncoder(format: self.capturer.format).encode(
      ReleasedFrame.slate("NO SIGNAL", format: self.capturer.format))
    #expect(try await stream.snapshots.snapshot() == slate)
    await stream.stop()
  }

  @Test func `the slate of a source that is connected and waits for a keyframe says so`() async throws {
    // Large enough for the words.
    let capturer = ScriptedVideoCapturer(format: VideoFormat(width: 640, height: 360))
    let stream = LiveStream("test", video: VideoSettings(sourceTimeout: .milliseconds(50)))
    stream.attachVideo(capturer)
    stream.add(self.output)
    try await stream.start()
    capturer.wait(VidiconError(.invalidData, subject: "camera", cause: "no keyframe has come", nextStep: "wait"))
    try await stream.eventually { stream.statistics.isSlateShown && stream.statistics.isSourceWaiting }
    let encoded = self.output.samples.count
    // A slate that is being encoded may have the words of before.
    _ = self.output.samples(atLeast: encoded + 3)
    let slates = try ["CONNECTED, NO FRAME YET", "NO SIGNAL"].map { text in
      try JPEGEncoder(format: capturer.format).encode(ReleasedFrame.slate(text, format: capturer.format))
    }
    #expect(slates[0] != slates[1])
    #expect(try await stream.snapshots.snapshot() == slates[0])
    await stream.stop()
  }

  @Test func `motion JPEG delivers each new frame, and ends with the stream`() async throws {
    let stream = try await self.startedStream()
    var images = stream.snapshots.motionJPEG(frameRate: 30).makeAsyncIterator()
    #expect(await images.next() == (try self.file(luma: 60)))
    self.show(luma: 200)
    #expect(await images.next() == (try self.file(luma: 200)))
    #expect(stream.snapshots.statistics.viewers == 1)
    await stream.stop()
    #expect(await images.next() == nil)
    #expect(stream.snapshots.statistics.viewers == 0)
  }

  @Test func `a viewer that disconnects is no longer counted, and another one stays`() async throws {
    let stream = try await self.startedStream()
    var stays = stream.snapshots.motionJPEG().makeAsyncIterator()
    let goes = Task {
      for await _ in stream.snapshots.motionJPEG() {}
    }
    try await stream.eventually { stream.snapshots.statistics.viewers >= 2 }
    goes.cancel()
    try await stream.eventually { stream.snapshots.statistics.viewers <= 1 }
    #expect(await stays.next() == (try self.file(luma: 60)))
    await stream.stop()
  }

  @Test func `a stream that is not running, or has no frame, has no snapshot`() async throws {
    let idle = LiveStream("test")
    await #expect(throws: VidiconError.streamHasNoFrame) { try await idle.snapshots.snapshot() }
    var none = idle.snapshots.motionJPEG().makeAsyncIterator()
    #expect(await none.next() == nil)
    let stream = try await self.startedStream()
    await stream.stop()
    await #expect(throws: VidiconError.streamHasNoFrame) { try await stream.snapshots.snapshot() }
    let audioStream = LiveStream("test")
    audioStream.attachAudio(ScriptedAudioCapturer())
    try await audioStream.start()
    await #expect(throws: VidiconError.streamHasNoFrame) { try await audioStream.snapshots.snapshot() }
    await audioStream.stop()
  }

  @Test func `encoding time and frame latency are measured`() async throws {
    let stream = try await self.startedStream()
    self.show(luma: 200)
    let statistics = stream.statistics
    #expect(statistics.videoEncodeTime > .zero && statistics.audioEncodeTime == .zero)
    #expect(statistics.videoLatency > .zero)
    #expect(statistics.videoFramesQueued == 0 && statistics.audioBlocksQueued == 0)
    #expect(statistics.videoEncoders == 1 && statistics.audioEncoders == 0)
    await stream.stop()
    #expect(stream.statistics.videoEncoders == 0)
  }
}
