import Codecs
import Effects
import Media
import NIOCore
import Synchronization
import TestSupport
import Testing
import Threading

@testable import Streaming

@Suite("Renditions of a live stream", .timeLimit(.minutes(5)))
struct RenditionTests {
  private let source = ScriptedVideoCapturer()
  private let main = CollectingOutput()
  private let output = CollectingOutput()

  private static func low(frameRate: FrameRate? = nil) -> RenditionSettings {
    RenditionSettings(name: "low", width: 32, height: 24, bitrate: 100_000, frameRate: frameRate)
  }

  private static func settings(_ list: [RenditionSettings] = [Self.low()]) -> VideoSettings {
    VideoSettings(keyframeInterval: .seconds(100), sourceTimeout: .seconds(1000), renditions: .list(list))
  }

  /// A running stream that has encoded a first frame.
  private func startedStream(_ settings: VideoSettings = Self.settings()) async throws -> LiveStream {
    let stream = LiveStream("test", video: settings)
    stream.attachVideo(self.source)
    stream.add(self.main)
    async let start: Void = stream.start()
    try await stream.eventually { self.source.isStarted }
    self.source.deliver(at: StreamClock.system.now())
    try await start
    return stream
  }

  /// Delivers a frame, and waits until the rendition has encoded it.
  private func show(luma: UInt8 = 128, in output: CollectingOutput? = nil) {
    let output = output ?? self.output
    let count = output.samples.count
    self.source.deliver(at: StreamClock.system.now(), luma: luma)
    _ = output.samples(atLeast: count + 1)
  }

  /// The rendition, in use, with its encoder open.
  private func used(_ stream: LiveStream, _ output: any StreamOutput) async throws -> Rendition {
    let rendition = try #require(stream.rendition(named: "low"))
    rendition.add(output)
    rendition.beginUse()
    try await stream.eventually { rendition.statistics.isRunning }
    return rendition
  }

  private static func keyframes(_ output: CollectingOutput) -> [MediaTime] {
    output.samples.filter(\.isKeyframe).map(\.presentationTime)
  }

  @Test func `an unused rendition opens no encoder and gets no frame`() async throws {
    let stream = try await self.startedStream()
    let rendition = try #require(stream.rendition(named: "low"))
    rendition.add(self.output)
    for _ in 0..<5 { self.show(in: self.main) }
    await stream.stop()
    #expect(rendition.statistics == RenditionStatistics())
    #expect(self.output.samples.isEmpty && self.output.hasEnded)
  }

  @Test func `frames are scaled once for each size in use, and not at all without use`() async throws {
    let set = RenditionSet()
    let same = RenditionSettings(name: "same", width: 32, height: 24, bitrate: 50_000)
    let other = RenditionSettings(name: "other", width: 16, height: 16, bitrate: 50_000)
    let format = VideoFormat(width: 64, height: 48, frameRate: 30)
    set.connect(
      Self.settings([Self.low(), same, other]), format: format, report: { _ in }, requestKeyframe: {}, requestFrame: {})
    let feed = RenditionScaler(set, keyframeInterval: .seconds(2))
    let pool = VideoFramePool(format: format)
    func offer(_ seconds: Range<Int>) throws {
      for second in seconds {
        let time = MediaTime.zero + .seconds(Int64(second))
        let frame = try #require(
          pool.frame(at: time) { buffer in
            for plane in 0..<3 { buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: 128) }
          })
        feed.offer(
          EffectChain().release(frame), isKeyframe: second == 0, generation: feed.generation, at: time)
      }
    }
    try offer(0..<5)
    #expect(feed.scaledCount == 0 && set.all.allSatisfy { $0.statistics == RenditionStatistics() })
    for rendition in set.all { rendition.beginUse() }
    try await eventually { set.all.allSatisfy { $0.statistics.isRunning } }
    try offer(5..<8)
    // Two renditions have one size.
    #expect(feed.scaledCount == 6)
    for rendition in set.all { rendition.endUse() }
    try offer(8..<12)
    #expect(feed.scaledCount == 6)
    set.end()
  }

  @Test func `a used rendition has the main one's frames and times, in its own size, from a keyframe on`() async throws
  {
    let stream = try await self.startedStream()
    let viewer = ViewingOutput()
    let rendition = try await self.used(stream, viewer)
    rendition.add(self.output)
    for _ in 0..<10 { self.show(luma: 200) }
    #expect(self.output.samples.first?.isKeyframe == true)
    let times = self.output.samples.map(\.presentationTime)
    #expect(times == self.main.samples.suffix(times.count).map(\.presentationTime))
    guard case .h264(let description)? = rendition.descriptions.first else {
      Issue.record("it has no description")
      return
    }
    #expect((description.width, description.height) == (32, 24))
    #expect(viewer.lumas.count == 10 && viewer.lumas.allSatisfy(LiveStreamEffectsTests.near(200)))
    let statistics = rendition.statistics
    #expect(statistics.framesEncoded == 10 && statistics.framesDropped == 0 && statistics.users == 1)
    #expect(statistics.bytes > 0 && statistics.encodeTime > .zero)
    await stream.stop()
  }

  @Test func `a keyframe request of one rendition falls on the same frame in all`() async throws {
    let stream = try await self.startedStream()
    let rendition = try await self.used(stream, self.output)
    self.show()
    let first = try #require(self.output.samples.first?.presentationTime)
    rendition.requestKeyframe()
    while Self.keyframes(self.output).count < 2 { self.show() }
    stream.requestKeyframe()
    while Self.keyframes(self.output).count < 3 { self.show() }
    let shared = Self.keyframes(self.main).filter { $0 > first }
    #expect(Self.keyframes(self.output).dropFirst() == shared[...] && shared.count == 2)
    await stream.stop()
  }

  @Test func `the encoder's own keyframes are shared too`() async throws {
    var settings = Self.settings()
    // Six frames of the source's 30 per second.
    settings.keyframeInterval = .milliseconds(200)
    let stream = try await self.startedStream(settings)
    _ = try await self.used(stream, self.output)
    for _ in 0..<30 { self.show() }
    let first = try #require(self.output.samples.first?.presentationTime)
    let shared = Self.keyframes(self.main).filter { $0 > first }
    #expect(shared.count >= 4 && Self.keyframes(self.output).filter { $0 > first } == shared)
    await stream.stop()
  }

  @Test func `a lower frame rate skips frames, but no keyframe`() async throws {
    let rendition = RenditionEncoding(
      Self.low(frameRate: 10), of: VideoFormat(width: 64, height: 48, frameRate: 30), video: VideoSettings(),
      lingerTime: .zero, report: { _ in }, request: {}, usageChanged: {})
    rendition.beginUse()
    try await eventually { rendition.statistics.isRunning }
    let accepted = (0..<20).filter { index in
      rendition.accepts(.zero + .ticks(Int64(index), timescale: 30), isKeyframe: index == 7 || index == 18)
    }
    #expect(accepted == [0, 3, 6, 7, 10, 13, 16, 18])
    #expect(!rendition.accepts(.zero, isKeyframe: true))
    rendition.end()
  }

  @Test func `the encoder is closed after the last use, and opened for the next one`() async throws {
    var settings = Self.settings()
    settings.renditionLingerTime = .milliseconds(300)
    let stream = try await self.startedStream(settings)
    let rendition = try await self.used(stream, self.output)
    self.show()
    let end = StreamClock.system.now()
    rendition.endUse()
    let count = self.output.samples.count
    self.show(in: self.main)
    try await stream.eventually { !rendition.statistics.isRunning }
    #expect(StreamClock.system.now() - end >= .milliseconds(300))
    #expect(self.output.samples.count == count)
    rendition.beginUse()
    try await stream.eventually { rendition.statistics.isRunning }
    self.show()
    #expect(self.output.samples.count == count + 1 && self.output.samples.last?.isKeyframe == true)
    #expect(rendition.statistics.starts == 2)
    rendition.endUse(lingers: false)
    try await stream.eventually { !rendition.statistics.isRunning }
    await stream.stop()
  }

  @Test func `its description is known before a frame is encoded`() async throws {
    let stream = try await self.startedStream()
    let rendition = try #require(stream.rendition(named: "low"))
    let description = try await rendition.prepare()
    #expect(description == rendition.descriptions && rendition.statistics.framesEncoded == 0)
    await stream.stop()
    await #expect(throws: VidiconError.self) { try await rendition.prepare() }
  }

  @Test func `audio of the stream follows into a used rendition`() async throws {
    let audio = ScriptedAudioCapturer()
    let stream = LiveStream("test", video: Self.settings())
    stream.attachVideo(self.source)
    stream.attachAudio(audio)
    async let start: Void = stream.start()
    try await stream.eventually { self.source.isStarted }
    self.source.deliver(at: StreamClock.system.now())
    try await stream.eventually { audio.isStarted }
    audio.deliver(at: StreamClock.system.now(), samples: 4800)
    try await start
    _ = try await self.used(stream, self.output)
    #expect(self.output.first { $0.kind == .audio } != nil)
    await stream.stop()
  }

  @Test func `an encoder that cannot be opened is reported, and the stream continues`() async throws {
    var low = Self.low()
    low.encoder = "h264_none"
    var settings = Self.settings([low])
    settings.renditionRetryDelay = .seconds(1000)
    let stream = try await self.startedStream(settings)
    let rendition = try #require(stream.rendition(named: "low"))
    rendition.add(self.output)
    rendition.beginUse()
    try await stream.eventually { self.output.hasEnded }
    #expect(rendition.failure?.code == .notFound)
    var events = stream.events.makeAsyncIterator()
    guard case .renditionFailed("low", let error)? = await events.next() else {
      Issue.record("it is not reported")
      return
    }
    #expect(error.code == .notFound)
    for _ in 0..<5 { self.show(in: self.main) }
    #expect(stream.isRunning)
    await stream.stop()
  }

  @Test func `a passed-through source is decoded for a rendition while it is used, with its keyframes`() async throws {
    // Keyframes only with those of the source, however slow the machine is.
    let settings = VideoSettings(keyframeInterval: .seconds(100), renditions: .list([Self.low()]))
    try await PassThroughTests.run(settings, count: 80, isLive: true) { stream, main, samples, description, deliver in
      deliver(1..<15)
      #expect(main.samples(atLeast: 15).count == 15)
      let viewer = ViewingOutput()
      try #require(stream.rendition(named: "low")).add(viewer)
      let rendition = try await self.used(stream, self.output)
      for index in 15..<35 {
        deliver(index..<index + 1)
        let time = main.samples(atLeast: index + 1)[index].presentationTime
        #expect(self.output.first { $0.presentationTime == time } != nil)
      }
      #expect(stream.descriptions == [description] && stream.statistics.videoEncoders == 0)
      #expect(main.samples.map(\.payload) == samples.prefix(35).map(\.payload))
      let times = self.output.samples.map(\.presentationTime)
      // From the frame on that was the newest when it came into use.
      #expect(times.count >= 20 && times == main.samples.suffix(times.count).map(\.presentationTime))
      let first = try #require(times.first)
      #expect(Self.keyframes(self.output) == [first] + Self.keyframes(main).filter { $0 > first })
      #expect(viewer.lumas.last.map(LiveStreamEffectsTests.near(60 + 34)) == true)
      // Viewers of the rendition do not wait for the source's keyframes, and do not ask for any.
      let source = stream.statistics.keyframeRequests
      let pause = StreamClock.system.now()
      try await stream.eventually { StreamClock.system.now() - pause > .milliseconds(600) }
      let keyframes = Self.keyframes(self.output).count
      rendition.requestKeyframe()
      // Of the last frame, since the source shows nothing new.
      try await stream.eventually { Self.keyframes(self.output).count > keyframes }
      #expect(stream.statistics.keyframeRequests == source)
      deliver(35..<38)
      rendition.endUse(lingers: false)
      deliver(38..<45)
      let unused = main.samples(atLeast: 45).suffix(7).map(\.presentationTime)
      // Earlier frames may still be encoded.
      #expect(unused.count == 7 && !self.output.samples.contains { unused.contains($0.presentationTime) })
    }
  }

  @Test func `frames are covered in each rendition, and earlier ones discarded, once faces are private`() async throws {
    let stream = try await self.startedStream()
    let viewer = ViewingOutput()
    let rendition = try await self.used(stream, viewer)
    rendition.add(self.output)
    for _ in 0..<3 { self.show(luma: 220) }
    #expect(viewer.lumas.count == 3 && viewer.lumas.allSatisfy(LiveStreamEffectsTests.near(220)))
    stream.effects = [PrivacyMask()]
    let count = viewer.lumas.count
    for _ in 0..<5 { self.show(luma: 220) }
    let covered = viewer.lumas.dropFirst(count)
    #expect(covered.count >= 5 && covered.allSatisfy(LiveStreamEffectsTests.near(40)), "\(viewer.lumas)")
    #expect(self.output.samples.dropFirst(3).first?.isKeyframe == true)
    await stream.stop()
  }

  @Test func `no frame that is output once faces are private is uncovered, in any rendition, while frames keep coming`()
    async throws
  {
    let stream = try await self.startedStream()
    let (main, low) = (ViewingOutput(), ViewingOutput())
    stream.add(main)
    let rendition = try await self.used(stream, low)
    // No task: this test blocks a thread of tasks while it waits for the frames.
    let feeding = WorkerThread(name: "feeding")
    try feeding.start { [source = self.source] signal in
      repeat {
        source.deliver(at: StreamClock.system.now(), luma: 220)
      } while signal.wait(until: StreamClock.system.now() + .milliseconds(2))
    }
    for _ in 0..<10 {
      stream.effects = []
      for viewer in [main, low] {
        try await stream.eventually { viewer.lumas.last.map(LiveStreamEffectsTests.near(220)) == true }
      }
      stream.effects = [PrivacyMask()]
      let counts = [main, low].map(\.lumas.count)
      for (viewer, count) in zip([main, low], counts) {
        let lumas = viewer.lumas(atLeast: count + 8).dropFirst(count)
        #expect(lumas.count >= 8 && lumas.allSatisfy(LiveStreamEffectsTests.near(40)), "\(lumas)")
      }
    }
    feeding.stop()
    // Of each round one without effects, and eight.
    #expect(rendition.statistics.framesEncoded >= 10 * 9)
    await stream.stop()
  }

  @Test func `by default the encoder of an unused rendition is closed after ten seconds, and no earlier`() async throws
  {
    let rendition = RenditionEncoding(
      Self.low(), of: VideoFormat(width: 64, height: 48, frameRate: 30), video: VideoSettings(),
      lingerTime: VideoSettings().renditionLingerTime, report: { _ in }, request: {}, usageChanged: {})
    rendition.beginUse()
    try await eventually { rendition.statistics.isRunning }
    let end = StreamClock.system.now()
    rendition.endUse()
    try await eventually { !rendition.statistics.isRunning }
    let duration = StreamClock.system.now() - end
    #expect(duration >= .seconds(10), "\(duration.seconds)")
    #expect(onQuietMachine(duration < .seconds(12)), "\(duration.seconds)")
    #expect(rendition.statistics.starts == 1 && !rendition.hasFailed)
    rendition.end()
  }

  @Test func `a rendition larger than the stream is left out and reported`() async throws {
    let large = RenditionSettings(name: "large", width: 128, height: 24, bitrate: 100_000)
    let stream = try await self.startedStream(Self.settings([large, Self.low()]))
    #expect(stream.renditions.map(\.name) == ["low"])
    var events = stream.events.makeAsyncIterator()
    guard case .renditionFailed("large", let error)? = await events.next() else {
      Issue.record("it is not reported")
      return
    }
    #expect(error.code == .invalidSpecification)
    await stream.stop()
  }

  @Test func `a rendition is added while the stream runs, replaced in another size, and removed`() async throws {
    let stream = try await self.startedStream(Self.settings([]))
    #expect(stream.renditions.isEmpty && stream.renditionPaths == ["test/main"])
    try await stream.setRendition(Self.low())
    #expect(stream.renditionPaths == ["test/main", "test/low"])
    let first = try await self.used(stream, self.output)
    self.show()
    let changes = stream.renditionChanges

    var settings = Self.low()
    settings.bitrate = 200_000
    try await stream.setRendition(settings)
    #expect(stream.rendition(named: "low") == first && first.bitrate == 200_000 && !self.output.hasEnded)
    #expect(stream.renditionChanges == changes)
    self.show()

    settings.width = 48
    try await stream.setRendition(settings)
    #expect(self.output.hasEnded && first.failure?.code == .notFound && !first.statistics.isRunning)
    #expect(stream.renditionChanges > changes)
    let other = CollectingOutput()
    let second = try await self.used(stream, other)
    #expect(second != first && second.bitrate == 200_000)
    self.show(in: other)
    guard case .h264(let description)? = second.descriptions.first else {
      Issue.record("it has no description")
      return
    }
    #expect((description.width, description.height) == (48, 24))

    try await stream.removeRendition(named: "low")
    #expect(other.hasEnded && stream.renditions.isEmpty && !second.statistics.isRunning)
    #expect(stream.renditionPaths == ["test/main"])
    for _ in 0..<3 { self.show(in: self.main) }
    #expect(stream.isRunning)
    await #expect(throws: VidiconError.self) { try await stream.removeRendition(named: "low") }
    await stream.stop()
    await #expect(throws: VidiconError.streamEnded) { try await stream.setRendition(settings) }
  }

  @Test func `a change that the stream cannot have leaves its renditions as they are`() async throws {
    let list = (0..<16).map { RenditionSettings(name: "r\($0)", width: 32, height: 24, bitrate: 100_000) }
    let stream = try await self.startedStream(Self.settings(list))
    let before = stream.renditions
    for settings in [
      RenditionSettings(name: "r16", width: 32, height: 24, bitrate: 100_000),
      RenditionSettings(name: "r0", width: 3200, height: 24, bitrate: 100_000),
      RenditionSettings(name: "r1", width: 31, height: 24, bitrate: 100_000),
      RenditionSettings(name: "whep", width: 32, height: 24, bitrate: 100_000),
      RenditionSettings(name: "r2", width: 32, height: 24, bitrate: 1),
    ] {
      let error = await #expect(throws: VidiconError.self) { try await stream.setRendition(settings) }
      #expect(error?.code == .invalidSpecification && error?.description.contains("\n") == false)
    }
    #expect(stream.renditions == before)
    await stream.stop()
  }

  @Test func `concurrent changes of one rendition leave one of them`() async throws {
    let stream = try await self.startedStream(Self.settings([]))
    await withTaskGroup { group in
      for width in 1...12 {
        group.addTask {
          let settings = RenditionSettings(name: "low", width: 16 + 2 * width, height: 24, bitrate: 100_000)
          try? await stream.setRendition(settings)  // Refused where too many wait.
        }
      }
    }
    #expect(stream.renditions.map(\.name) == ["low"])
    await stream.stop()
    #expect(stream.renditions.allSatisfy { $0.failure != nil })
  }

  @Test func `a frame of another aspect ratio has bars`() throws {
    let source = VideoFramePool(format: VideoFormat(width: 64, height: 48))
    let frame = try #require(
      source.frame(at: .zero) { buffer in
        for plane in 0..<3 {
          buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: plane == 0 ? 200 : 128)
        }
      })
    let pool = VideoFramePool(format: VideoFormat(width: 64, height: 24))
    let scaled = try #require(EffectChain().release(frame).scaled(with: pool)).frame
    let row = scaled.withPlane(0) { Array($0[64 * 12..<64 * 13]) }
    #expect(row[0..<16].allSatisfy { $0 == 16 } && row[16..<48].allSatisfy { $0 == 200 })
    #expect(row[48...].allSatisfy { $0 == 16 })
  }
}
