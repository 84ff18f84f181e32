import Capture
import Codecs
import Media
import NIOCore
import TestSupport
import Testing
import Threading

@testable import Streaming

@Suite("Live stream", .timeLimit(.minutes(5)))
struct LiveStreamTests {
  private let capturer = ScriptedVideoCapturer()
  private let output = CollectingOutput()

  /// Settings of a stream that makes no slate or keyframe by itself.
  private static let patient = {
    var settings = VideoSettings(keyframeInterval: .seconds(100), sourceTimeout: .seconds(1000))
    settings.pausedInterval = .seconds(1000)
    return settings
  }()

  /// A running stream that has encoded a first frame.
  private func startedStream(_ settings: VideoSettings = VideoSettings(sourceTimeout: .seconds(1000))) async throws -> (
    LiveStream, MediaTime
  ) {
    let stream = LiveStream("test", video: settings)
    stream.attachVideo(self.capturer)
    stream.add(self.output)
    async let start: Void = stream.start()
    try await stream.eventually { self.capturer.isStarted }
    let time = StreamClock.system.now()
    self.capturer.deliver(at: time)
    try await start
    return (stream, time)
  }

  @Test func `the first frame starts the stream, as a keyframe at the time of its capture`() async throws {
    let (stream, time) = try await self.startedStream()
    let sample = try #require(self.output.first { _ in true })
    #expect(sample.isKeyframe && sample.presentationTime == time)
    guard case .h264(let description) = stream.descriptions.first else {
      Issue.record("no description")
      return
    }
    #expect(description.width == 64 && description.height == 48)
    await stream.stop()
    #expect(self.output.hasEnded)
  }

  @Test func `viewers get frames of the output's size`() async throws {
    let (stream, _) = try await self.startedStream(
      VideoSettings(width: 320, height: 180, sourceTimeout: .seconds(1000)))
    guard case .h264(let description) = stream.descriptions.first else {
      Issue.record("no description")
      return
    }
    #expect(description.width == 320 && description.height == 180)
    await stream.stop()
  }

  @Test func `a source rotated by a quarter turn gets an output of its upright shape`() async throws {
    let stream = LiveStream("test", video: VideoSettings(sourceTimeout: .seconds(1000)))
    stream.attachVideo(self.capturer)
    async let start: Void = stream.start()
    try await stream.eventually { self.capturer.isStarted }
    self.capturer.deliver(at: StreamClock.system.now(), orientation: .right)
    try await start
    guard case .h264(let description) = stream.descriptions.first else {
      Issue.record("no description")
      return
    }
    #expect(description.width == 48 && description.height == 64)
    await stream.stop()
  }

  @Test func `dropped frames are counted and reported with the reason`() async throws {
    let (stream, _) = try await self.startedStream()
    let time = StreamClock.system.now()
    let wrong = VideoFormat(width: 32, height: 32)
    self.capturer.deliver(at: time + .milliseconds(10), format: wrong)
    self.capturer.deliver(at: time + .milliseconds(20))
    _ = self.output.first { $0.presentationTime == time + .milliseconds(20) }
    self.capturer.deliver(at: time + .milliseconds(15))
    self.capturer.deliver(at: time + .milliseconds(30))
    _ = self.output.first { $0.presentationTime == time + .milliseconds(30) }
    await stream.stop()
    self.capturer.deliver(at: time + .milliseconds(40))
    #expect(
      Set(self.capturer.drops) == [
        FrameDrop(timestamp: time + .milliseconds(10), reason: .wrongFormat),
        FrameDrop(timestamp: time + .milliseconds(15), reason: .late),
        FrameDrop(timestamp: time + .milliseconds(40), reason: .stopped),
      ])
    #expect(stream.statistics.framesDropped == [.wrongFormat: 1, .late: 1, .stopped: 1])
    #expect(stream.statistics.framesIn == 6)
    #expect(stream.statistics.framesEncoded == 3)
  }

  @Test func `a frame for which the capturer had no memory is counted and reported`() async throws {
    let (stream, time) = try await self.startedStream()
    self.capturer.skip(at: time + .milliseconds(10))
    #expect(stream.statistics.framesDropped == [.noMemory: 1] && stream.statistics.framesIn == 1)
    #expect(self.capturer.drops == [FrameDrop(timestamp: time + .milliseconds(10), reason: .noMemory)])
    await stream.stop()
  }

  @Test func `excess frames of a source faster than requested are omitted, and are not drops`() async throws {
    let (stream, time) = try await self.startedStream(VideoSettings(frameRate: 10, sourceTimeout: .seconds(1000)))
    // The limiter's first frame, two that arrive too soon after it, and the next one that is due.
    for (index, milliseconds) in [10, 40, 70, 90].enumerated() {
      self.capturer.deliver(at: time + .milliseconds(Int64(milliseconds)))
      if index == 0 { _ = self.output.first { $0.presentationTime == time + .milliseconds(10) } }
    }
    _ = self.output.first { $0.presentationTime == time + .milliseconds(90) }
    await stream.stop()
    #expect(stream.statistics.framesThinned == 2 && stream.statistics.framesDropped.isEmpty)
    #expect(self.capturer.drops.isEmpty)
    #expect(stream.statistics.framesIn == 5 && stream.statistics.framesEncoded == 3)
  }

  @Test func `a keyframe request is met by the next frame once half a second has passed`() async throws {
    let (stream, time) = try await self.startedStream(
      VideoSettings(keyframeInterval: .seconds(100), sourceTimeout: .seconds(1000)))
    // The source's frame rate is 30: these frames are all within half a second after the first keyframe.
    stream.requestKeyframe()
    let keyframe = self.output.first { $0.isKeyframe && $0.presentationTime > time }
    // No frame arrives, so the last one is encoded again with the current time.
    let found = try #require(keyframe)
    #expect(found.presentationTime - time >= .milliseconds(450))
    #expect(stream.statistics.keyframeRequests == 1)
    await stream.stop()
  }

  @Test func `a still frame is encoded at the full rate for a new viewer, then less often`() async throws {
    let (stream, _) = try await self.startedStream(
      VideoSettings(keyframeInterval: .seconds(100), sourceTimeout: .seconds(1000)))
    stream.requestKeyframe()
    // ffmpeg needs twenty frames for its probe, and one to begin with. A busy machine encodes fewer after one request.
    try await stream.eventually {
      if !judgesTiming { stream.requestKeyframe() }
      return stream.statistics.framesEncoded > 21
    }
    let requested = self.output.samples.dropFirst().first
    let last = try #require(self.output.samples.last)
    #expect(try onQuietMachine(try last.presentationTime - #require(requested).presentationTime < .seconds(2)))
    await stream.stop()
    #expect(onQuietMachine(stream.statistics.framesEncoded < 60))
  }

  @Test func `while encoding is paused frames are not encoded, but a new viewer gets one`() async throws {
    let (stream, _) = try await self.startedStream(Self.patient)
    stream.isEncodingPaused = true
    let time = StreamClock.system.now()
    for _ in 1...5 { self.capturer.deliver(at: StreamClock.system.now()) }
    stream.requestKeyframe()
    let still = try #require(self.output.first { $0.presentationTime > time })
    #expect(still.isKeyframe)
    #expect(self.output.samples.count == 2)
    stream.isEncodingPaused = false
    // Ahead, since the last frame may be repeated for the new viewer until this one is processed.
    let resumed = StreamClock.system.now() + .milliseconds(90)
    self.capturer.deliver(at: resumed)
    #expect(self.output.first { $0.presentationTime >= resumed }?.presentationTime == resumed)
    await stream.stop()
  }

  @Test func `while encoding is paused and frames arrive, a keyframe request does not wait for them`() async throws {
    let (stream, time) = try await self.startedStream(Self.patient)
    stream.isEncodingPaused = true
    let frames = Task {
      while !Task.isCancelled {
        self.capturer.deliver(at: StreamClock.system.now())
        await Task.yield()
      }
    }
    stream.requestKeyframe()
    let keyframe = self.output.first { $0.isKeyframe && $0.presentationTime > time }
    // Not by the times of frames, which wait on a busy machine.
    let wait = StreamClock.system.now() - time
    frames.cancel()
    await frames.value
    // Half a second after the first one. Without a request nothing is encoded during a pause here.
    #expect(keyframe != nil && wait >= .milliseconds(500))
    stream.isEncodingPaused = false
    // Ahead, since the last frame may be repeated for the new viewer until this one is processed.
    let resumed = StreamClock.system.now() + .milliseconds(90)
    self.capturer.deliver(at: resumed)
    #expect(self.output.first { $0.presentationTime >= resumed }?.presentationTime == resumed)
    let times = self.output.samples.map(\.presentationTime)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
    await stream.stop()
  }

  @Test func `when the source stalls the slate is shown until the next frame`() async throws {
    let (stream, _) = try await self.startedStream(VideoSettings(sourceTimeout: .milliseconds(50)))
    var events = stream.events.makeAsyncIterator()
    #expect(await events.next() == .sourceSilent)
    let before = self.output.samples.count
    #expect(self.output.samples(atLeast: before + 5).count >= before + 5)
    #expect(stream.statistics.isSlateShown)
    // Ahead of the slate, which may be encoded with the current time until this frame is processed.
    self.capturer.deliver(at: StreamClock.system.now() + .milliseconds(90))
    #expect(await events.next() == .sourceBack(.video))
    let times = self.output.samples.map(\.presentationTime)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
    await stream.stop()
  }

  @Test func `a source that waits for a keyframe is neither ended nor lost, before and after its first frame`()
    async throws
  {
    let reason = VidiconError(.invalidData, subject: "camera", cause: "no keyframe has come", nextStep: "wait")
    let stream = LiveStream("test", video: VideoSettings(sourceTimeout: .milliseconds(50)))
    stream.attachVideo(self.capturer)
    stream.add(self.output)
    var events = stream.events.makeAsyncIterator()
    try await stream.start()
    self.capturer.wait(reason)
    var event = await events.next()
    while event == .sourceSilent { event = await events.next() }
    #expect(event == .sourceWaits(reason))
    #expect(stream.statistics.isSlateShown && stream.statistics.isSourceWaiting)
    self.capturer.deliver(at: StreamClock.system.now())
    #expect(await events.next() == .sourceBack(.video))
    #expect(!stream.statistics.isSourceWaiting)
    self.capturer.wait(reason)
    event = await events.next()
    while event == .sourceSilent { event = await events.next() }
    #expect(event == .sourceWaits(reason))
    await stream.stop()
  }

  @Test func `the end of the source is reported, and the slate is shown a quarter of a second later`() async throws {
    let (stream, time) = try await self.startedStream(VideoSettings(sourceTimeout: .seconds(1000)))
    var events = stream.events.makeAsyncIterator()
    self.capturer.end(nil)
    #expect(await events.next() == .sourceEnded(.video, nil))
    let samples = self.output.samples(atLeast: 5)
    try #require(samples.count >= 5)
    #expect(samples[1].presentationTime - time >= .milliseconds(250))
    await stream.stop()
  }

  @Test func `a source that fails before its first frame fails the start`() async throws {
    let stream = LiveStream("test", video: VideoSettings(sourceTimeout: .seconds(1000)))
    stream.attachVideo(self.capturer)
    stream.add(self.output)
    let failure = VidiconError(.invalidData, subject: "x", cause: "broken", nextStep: "mend it")
    let start = Task { try await stream.start() }
    try await stream.eventually { self.capturer.isStarted }
    self.capturer.end(failure)
    await #expect(throws: failure) { try await start.value }
    #expect(self.output.hasEnded)
  }

  @Test(arguments: [nil, .video, .audio] as [MediaKind?])
  func `a source that fails to start fails the start, and is known`(kind: MediaKind?) async throws {
    let failure = VidiconError(.notFound, subject: "x", cause: "unplugged", nextStep: "plug it in")
    let stream = LiveStream("test", video: VideoSettings(encoder: kind == nil ? "h264_nowhere" : "libx264"))
    stream.attachVideo(ScriptedVideoCapturer(failure: kind == .video ? failure : nil))
    stream.attachAudio(ScriptedAudioCapturer(failure: kind == .audio ? failure : nil))
    let error = await #expect(throws: VidiconError.self) { try await stream.start() }
    #expect(error?.subject == (kind == nil ? "encoder h264_nowhere" : "x"))
    #expect(stream.failedSource == kind)
  }

  @Test func `a missing encoder fails the start`() async throws {
    let stream = LiveStream("test", video: VideoSettings(encoder: "h264_nowhere"))
    stream.attachVideo(self.capturer)
    let error = await #expect(throws: VidiconError.self) { try await stream.start() }
    #expect(error?.code == .notFound)
  }

  @Test func `starting without sources, or twice, is an error`() async throws {
    await #expect(throws: VidiconError.streamHasNoSource) { try await LiveStream("test").start() }
    let (stream, _) = try await self.startedStream()
    await #expect(throws: VidiconError.streamAlreadyStarted) { try await stream.start() }
    await stream.stop()
  }

  @Test func `a stream stopped during its start does not start, and its source is stopped`() async throws {
    let stream = LiveStream("test", video: VideoSettings(sourceTimeout: .seconds(1000)))
    stream.attachVideo(self.capturer)
    stream.add(self.output)
    let start = Task { try await stream.start() }
    try await stream.eventually { self.capturer.isStarted }
    await stream.stop()
    await #expect(throws: VidiconError.streamStopped) { try await start.value }
    #expect(self.output.hasEnded && !stream.isRunning)
    // A source whose start is about to return is stopped by the thread that opens it.
    try await eventually { self.capturer.stops > 0 }
  }

  @Test(arguments: [MediaKind.video, .audio])
  func `a first source that hangs while it is opened fails the start, and is stopped when it returns`(kind: MediaKind)
    async throws
  {
    var settings = VideoSettings(sourceTimeout: .seconds(1000))
    // Long enough for the thread that opens the first of two sources to begin on a busy machine.
    settings.switchTimeouts.start = .seconds(1)
    let stream = LiveStream("test", video: settings)
    let video = ScriptedVideoCapturer(isHeld: kind == .video)
    let audio = ScriptedAudioCapturer(isHeld: kind == .audio)
    stream.attachVideo(video)
    stream.attachAudio(audio)
    stream.add(self.output)
    let error = VidiconError(
      .failed, subject: "\(kind.rawValue) source", cause: "it was not open after 1.0 s",
      nextStep: "check that it answers, then try again")
    await #expect(throws: error) { try await stream.start() }
    #expect(self.output.hasEnded && stream.failedSource == kind)
    // The other source is stopped at once, or was never started.
    #expect(kind == .video ? audio.starts == 0 && video.stops == 0 : video.stops == 1 && audio.stops == 0)
    video.release()
    audio.release()
    try await eventually { kind == .video ? video.stops == 1 : audio.stops == 1 }
    #expect(kind == .video ? audio.starts == 0 : video.stops == 1)
  }

  @Test func `stopping a stream ends a start that hangs`() async throws {
    var settings = VideoSettings(sourceTimeout: .seconds(1000))
    settings.switchTimeouts.start = .seconds(1000)
    let stream = LiveStream("test", video: settings)
    let held = ScriptedVideoCapturer(isHeld: true)
    stream.attachVideo(held)
    let start = Task { try await stream.start() }
    try await stream.eventually { held.starts == 1 }
    await stream.stop()
    await #expect(throws: VidiconError.streamStopped) { try await start.value }
    #expect(held.stops == 0)
    held.release()
    try await eventually { held.stops == 1 }
  }

  @Test func `an output added after the end is notified of it`() async throws {
    let (stream, _) = try await self.startedStream()
    await stream.stop()
    let late = CollectingOutput()
    stream.add(late)
    #expect(late.hasEnded)
  }

  @Test func `a timestamp outside the clock's range is replaced by the arrival time`() async throws {
    let (stream, _) = try await self.startedStream()
    let before = StreamClock.system.now()
    self.capturer.deliver(at: MediaTime(nanoseconds: 1))
    let sample = try #require(self.output.first { $0.presentationTime >= before })
    #expect(sample.presentationTime <= StreamClock.system.now())
    #expect(stream.statistics.framesDropped.isEmpty)
    await stream.stop()
  }
}

@Suite("Audio of a live stream", .timeLimit(.minutes(5)))
struct LiveStreamAudioTests {
  private let capturer = ScriptedAudioCapturer()
  private let output = CollectingOutput()

  private func startedStream() async throws -> LiveStream {
    let stream = LiveStream("test")
    stream.attachAudio(self.capturer)
    stream.add(self.output)
    try await stream.start()
    return stream
  }

  /// The maximum deviation of the samples' times from a grid of 1024 samples at 48 kHz, in nanoseconds.
  private func unevenness(_ samples: [EncodedSample]) -> Int64 {
    guard let first = samples.first else { return .max }
    return samples.enumerated().map { index, sample in
      abs(
        (sample.presentationTime - first.presentationTime - .ticks(Int64(index) * 1024, timescale: 48_000)).nanoseconds)
    }.max() ?? .max
  }

  @Test func `an audio-only stream starts at once`() async throws {
    let stream = try await self.startedStream()
    #expect(stream.descriptions.map(\.kind) == [.audio])
    await stream.stop()
  }

  @Test func `a source that ends and delivers audio again is reported once each`() async throws {
    let stream = try await self.startedStream()
    var events = stream.events.makeAsyncIterator()
    let failure = VidiconError(.failed, subject: "x", cause: "gone", nextStep: "plug it in")
    for _ in 1...2 {
      self.capturer.end(failure)
      #expect(await events.next() == .sourceEnded(.audio, failure))
      for _ in 1...2 { self.capturer.deliver(at: StreamClock.system.now(), samples: 480) }
      #expect(await events.next() == .sourceBack(.audio))
    }
    await stream.stop()
    #expect(await events.next() == nil)
  }

  @Test func `a source that delivers nothing is encoded as silence`() async throws {
    let stream = try await self.startedStream()
    let samples = self.output.samples(atLeast: 10)
    #expect(samples.count >= 10)
    #expect(self.unevenness(samples) <= 1)
    await stream.stop()
  }
}

@Suite("Audio alignment")
struct AudioAlignmentTests {
  @Test(arguments: [
    ("in step", 0, 0, 0), ("jitter", 20, 0, 0), ("jitter the other way", -20, 0, 0), ("a gap", 100, 4800, 0),
    ("an overlap", -50, 0, 2400), ("just beyond the tolerance", 21, 1008, 0),
  ])
  func `a gap is filled, an overlap cut, jitter ignored`(
    name: String, milliseconds: Int64, silence: Int, excess: Int
  ) {
    let expected = MediaTime(nanoseconds: 5_000_000_000)
    let alignment = AudioAlignment(
      start: expected + .milliseconds(milliseconds), expected: expected, sampleRate: 48_000)
    #expect(alignment.silence == silence && alignment.excess == excess)
  }
}
