import Capture
import Codecs
import Media
import NIOCore
import Synchronization
import TestSupport
import Testing
import Threading

@testable import Streaming

@Suite("Switching the frames of a live stream", .timeLimit(.minutes(5)))
struct LiveStreamSwitchTests {
  let first = ScriptedVideoCapturer()
  let second = ScriptedVideoCapturer()
  let output = CollectingOutput()

  /// Settings of a stream that makes no slate or keyframe by itself.
  static func patient(keyframes: MediaDuration = .seconds(100)) -> VideoSettings {
    var settings = VideoSettings(keyframeInterval: keyframes, sourceTimeout: .seconds(1000))
    settings.switchTimeouts.start = .seconds(1000)
    settings.switchTimeouts.firstItem = .seconds(1000)
    return settings
  }

  static let failure = VidiconError(.failed, subject: "x", cause: "broken", nextStep: "mend it")

  /// A running stream that has encoded a first frame.
  func startedStream(_ settings: VideoSettings = Self.patient()) async throws -> LiveStream {
    let stream = LiveStream("test", video: settings)
    stream.attachVideo(self.first)
    stream.add(self.output)
    async let start: Void = stream.start()
    try await stream.eventually { self.first.isStarted }
    self.first.deliver(at: StreamClock.system.now())
    try await start
    return stream
  }

  /// Switches to a source that delivers a frame as soon as it is started, with a given time or one shortly after the last frame's.
  func change(
    _ stream: LiveStream, to capturer: ScriptedVideoCapturer, at time: MediaTime? = nil
  ) async throws {
    async let change: Void = stream.switchVideo(to: capturer)
    // The frame rate is limited from when the start has returned.
    try await stream.eventually {
      let isOpening = stream.state.withLock { $0.openings.contains { $0.capturer === capturer } }
      return capturer.isStarted && !isOpening
    }
    capturer.deliver(at: time ?? self.output.next)
    try await change
  }

  /// The timestamp of the first sample from a time on; nil when none arrives in time.
  func nextTime(from time: MediaTime) -> MediaTime? {
    self.output.first { $0.presentationTime >= time }?.presentationTime
  }

  private func timesIncrease() -> Bool {
    let times = self.output.samples.map(\.presentationTime)
    return zip(times, times.dropFirst()).allSatisfy { $0 < $1 }
  }

  @Test func `the previous source is shown until the new one's first frame, then stopped`()
    async throws
  {
    let stream = try await self.startedStream()
    var events = stream.events.makeAsyncIterator()
    async let change: Void = stream.switchVideo(to: self.second)
    try await stream.eventually { self.second.isStarted }
    for _ in 1...3 {
      let time = StreamClock.system.now()
      self.first.deliver(at: time)
      #expect(self.nextTime(from: time) == time)
    }
    #expect(self.first.stops == 0 && stream.videoSource === self.first)
    // Not within a millisecond of the last frame, nor long after it, where the timestamp would be moved.
    let time = self.output.next
    self.second.deliver(at: time)
    try await change
    #expect(self.nextTime(from: time) == time)
    #expect(self.first.stops == 1 && self.second.stops == 0 && stream.videoSource === self.second)
    #expect(await events.next() == .sourceSwitched(.video))
    await stream.stop()
    #expect(self.first.stops == 1 && self.second.stops == 1 && stream.videoSource == nil)
  }

  @Test func `frames of the previous source that arrive after the cut are dropped and reported`() async throws {
    let stream = try await self.startedStream()
    try await self.change(stream, to: self.second)
    let late = StreamClock.system.now() + .milliseconds(2)
    self.first.deliver(at: late)
    let time = StreamClock.system.now() + .milliseconds(4)
    self.second.deliver(at: time)
    #expect(self.nextTime(from: time) == time)
    #expect(!self.output.samples.contains { $0.presentationTime == late })
    #expect(self.first.drops == [FrameDrop(timestamp: late, reason: .stopped)])
    await stream.stop()
  }

  @Test func `the first frame of a source of higher latency is shown at once, after the other's last one`()
    async throws
  {
    let stream = try await self.startedStream()
    let time = StreamClock.system.now()
    self.first.deliver(at: time)
    #expect(self.nextTime(from: time) == time)
    // Relative to that frame: however long the switch takes, the new source's are captured before it.
    try await self.change(stream, to: self.second, at: time + .milliseconds(-200))
    self.second.deliver(at: time + .milliseconds(-180))
    #expect(self.output.samples(atLeast: 4).count == 4 && self.timesIncrease())
    #expect(self.second.drops.isEmpty)
    await stream.stop()
  }

  @Test(arguments: [
    VideoFormat(width: 640, height: 480, pixelFormat: .yuyv, frameRate: 10),
    VideoFormat(width: 31, height: 17, pixelFormat: .rgb24, frameRate: 60),
    VideoFormat(width: 1280, height: 720, pixelFormat: .nv12, colorMatrix: .bt709),
    VideoFormat(width: 64, height: 48, bytesPerRow: [128, 64, 64]),
    VideoFormat(width: 48, height: 64, pixelFormat: .bgra),
  ])
  func `a source of any format takes over, and size and parameter sets stay`(format: VideoFormat) async throws {

    let stream = try await self.startedStream()
    let descriptions = stream.descriptions
    let other = ScriptedVideoCapturer(format: format)
    let time = self.output.next
    try await self.change(stream, to: other, at: time)
    #expect(self.nextTime(from: time) == time)
    #expect(stream.descriptions == descriptions && stream.statistics.videoEncoders == 1)
    #expect(stream.statistics.framesDropped.isEmpty)
    await stream.stop()
  }

  @Test func `a source faster than the stream is decimated, and a slower one is not`() async throws {
    let stream = try await self.startedStream()
    let fast = ScriptedVideoCapturer(format: VideoFormat(width: 64, height: 48, frameRate: 60))
    let time = self.output.next
    try await self.change(stream, to: fast, at: time)
    fast.deliver(at: time + .milliseconds(16))
    fast.deliver(at: time + .milliseconds(33))
    #expect(self.nextTime(from: time + .milliseconds(33)) == time + .milliseconds(33))
    #expect(stream.statistics.framesThinned == 1)
    let slow = ScriptedVideoCapturer(format: VideoFormat(width: 64, height: 48, frameRate: 5))
    try await self.change(stream, to: slow, at: time + .milliseconds(40))
    slow.deliver(at: time + .milliseconds(41))
    #expect(self.nextTime(from: time + .milliseconds(41)) == time + .milliseconds(41))
    #expect(stream.statistics.framesThinned == 1)
    await stream.stop()
  }

  @Test func `an announced format change is shown, and an unannounced one is dropped`() async throws {
    let stream = try await self.startedStream()
    let time = StreamClock.system.now()
    let wide = VideoFormat(width: 96, height: 32, pixelFormat: .nv12)
    self.first.deliver(at: time, format: wide)
    self.first.announce(wide)
    self.first.deliver(at: time + .milliseconds(10), format: wide)
    #expect(self.nextTime(from: time + .milliseconds(10)) == time + .milliseconds(10))
    self.first.deliver(at: time + .milliseconds(20))
    #expect(
      self.first.drops == [
        FrameDrop(timestamp: time, reason: .wrongFormat),
        FrameDrop(timestamp: time + .milliseconds(20), reason: .wrongFormat),
      ])
    await stream.stop()
  }

  @Test func `switching to the current source does nothing`() async throws {
    let stream = try await self.startedStream()
    try await stream.switchVideo(to: self.first)
    #expect(self.first.starts == 1 && self.first.stops == 0)
    await stream.stop()
  }

  @Test func `switches are performed one after the other, in the order of the calls`() async throws {
    let stream = try await self.startedStream()
    let third = ScriptedVideoCapturer()
    let one = Task { try await stream.switchVideo(to: self.second) }
    try await stream.eventually { self.second.isStarted }
    let two = Task { try await stream.switchVideo(to: third) }
    for _ in 0..<100 { await Task.yield() }
    #expect(third.starts == 0)
    self.second.deliver(at: StreamClock.system.now())
    try await one.value
    try await stream.eventually { third.isStarted }
    #expect(self.first.stops == 1 && self.second.stops == 0)
    third.deliver(at: StreamClock.system.now())
    try await two.value
    #expect(self.second.stops == 1 && stream.videoSource === third)
    await stream.stop()
  }

  @Test func `a switch before the start attaches the source, and after the end it is an error`() async throws {
    let stream = LiveStream("test", video: Self.patient())
    stream.attachVideo(self.second)
    try await stream.switchVideo(to: self.first)
    #expect(stream.videoSource === self.first && self.first.starts == 0)
    stream.add(self.output)
    async let start: Void = stream.start()
    try await stream.eventually { self.first.isStarted }
    self.first.deliver(at: StreamClock.system.now())
    try await start
    await stream.stop()
    await #expect(throws: VidiconError.streamEnded) { try await stream.switchVideo(to: self.second) }
    await #expect(throws: VidiconError.streamEnded) { try await stream.switchAudio(to: ScriptedAudioCapturer()) }
    #expect(self.second.starts == 0)
  }

  @Test func `a track that the stream was started without cannot be switched`() async throws {
    let stream = try await self.startedStream()
    await #expect(throws: VidiconError.streamHasNoTrack(.audio)) {
      try await stream.switchAudio(to: ScriptedAudioCapturer())
    }
    await stream.stop()
    let audioStream = LiveStream("audio")
    audioStream.attachAudio(ScriptedAudioCapturer())
    try await audioStream.start()
    await #expect(throws: VidiconError.streamHasNoTrack(.video)) { try await audioStream.switchVideo(to: self.second) }
    await audioStream.stop()
  }

  @Test func `stopping the stream during a switch ends the switch and stops both sources`() async throws {
    let stream = try await self.startedStream()
    let change = Task { try await stream.switchVideo(to: self.second) }
    try await stream.eventually { self.second.isStarted }
    await stream.stop()
    // A source whose start is about to return is stopped by the thread that opens it.
    try await eventually { self.second.stops > 0 }
    #expect(self.first.stops == 1 && self.second.stops == 1)
    await #expect(throws: VidiconError.streamEnded) { try await change.value }
  }

  @Test func `stopping the stream does not wait for a source that is being opened`() async throws {
    let stream = try await self.startedStream()
    let held = ScriptedVideoCapturer(isHeld: true)
    let change = Task { try await stream.switchVideo(to: held) }
    try await stream.eventually { held.starts > 0 }
    await stream.stop()
    await #expect(throws: VidiconError.streamEnded) { try await change.value }
    #expect(self.first.stops == 1 && held.stops == 0)
    held.release()
    try await stream.eventually { held.stops > 0 }
  }

  @Test func `a source that has ended is replaced while the slate is shown`() async throws {
    let stream = try await self.startedStream()
    var events = stream.events.makeAsyncIterator()
    self.first.end(Self.failure)
    #expect(await events.next() == .sourceEnded(.video, Self.failure))
    _ = self.output.samples(atLeast: 5)
    #expect(stream.statistics.isSlateShown)
    let time = StreamClock.system.now()
    try await self.change(stream, to: self.second, at: time)
    #expect(await events.next() == .sourceSwitched(.video))
    #expect(await events.next() == .sourceBack(.video))
    #expect(!stream.statistics.isSlateShown && self.timesIncrease())
    await stream.stop()
  }

  @Test func `the end of the previous source is not reported after the cut, that of the new one is`() async throws {
    let stream = try await self.startedStream()
    var events = stream.events.makeAsyncIterator()
    try await self.change(stream, to: self.second)
    self.first.end(Self.failure)
    self.second.end(nil)
    #expect(await events.next() == .sourceSwitched(.video))
    #expect(await events.next() == .sourceEnded(.video, nil))
    await stream.stop()
  }

  @Test func `rotation and mirroring belong to the source, and are restored with it`() async throws {
    let front = ScriptedVideoCapturer(position: .front)
    let stream = try await self.startedStream()
    stream.isMirrored = true
    stream.rotation = .left
    #expect(!stream.isPreviewMirrored)
    try await self.change(stream, to: front)
    #expect(!stream.isMirrored && stream.rotation == .up && stream.isPreviewMirrored)
    stream.isPreviewMirrored = false
    try await self.change(stream, to: self.first)
    #expect(stream.isMirrored && stream.rotation == .left && !stream.isPreviewMirrored)
    stream.isPreviewMirrored = true
    try await self.change(stream, to: front)
    #expect(!stream.isMirrored && !stream.isPreviewMirrored)
    await stream.stop()
  }

  @Test func `a rotation that is set before the start determines the output's shape`() async throws {
    let stream = LiveStream("test", video: Self.patient())
    stream.attachVideo(self.first)
    stream.rotation = .right
    async let start: Void = stream.start()
    try await stream.eventually { self.first.isStarted }
    self.first.deliver(at: StreamClock.system.now())
    try await start
    guard case .h264(let description) = stream.descriptions.first else {
      Issue.record("no description")
      return
    }
    #expect(description.width == 48 && description.height == 64)
    await stream.stop()
  }

  @Test func `a still frame is encoded again when it is rotated`() async throws {
    let stream = try await self.startedStream()
    stream.isMirrored = true
    #expect(self.output.samples(atLeast: 2).count == 2)
    await stream.stop()
  }

  @Test func `a cut is a keyframe once half a second has passed since the last one`() async throws {
    let start = StreamClock.system.now()
    let stream = try await self.startedStream()
    var sources = [self.second, self.first]
    var keyframe: EncodedSample?
    var cuts = 0
    while keyframe == nil, StreamClock.system.now() - start < .seconds(300) {
      try await self.change(stream, to: sources[0])
      sources.swapAt(0, 1)
      cuts += 1
      // Each cut is one frame.
      keyframe = self.output.samples(atLeast: 1 + cuts).last.flatMap { $0.isKeyframe ? $0 : nil }
    }
    try #require(keyframe != nil)
    // Between the times at which the two were encoded, not between those of their frames: on a busy machine, the second one waits.
    #expect(StreamClock.system.now() - start >= .milliseconds(500) && cuts > 0)
    #expect(self.output.samples.filter(\.isKeyframe).count == 2 && stream.statistics.keyframeRequests == 0)
    await stream.stop()
  }
}
