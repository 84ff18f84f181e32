import Codecs
import Media
import Testing
import Threading

@testable import Streaming

@Suite("Encodings for one output alone", .timeLimit(.minutes(5)))
struct PrivateRenditionTests {
  private let source = ScriptedVideoCapturer()
  private let main = CollectingOutput()
  private let output = CollectingOutput()

  @Test(arguments: ["main", "low"])
  func `an encoding for one output has the size, frame rate and profile of the one it is like`(name: String)
    async throws
  {
    let low = RenditionSettings(name: "low", width: 32, height: 24, bitrate: 100_000, frameRate: 15)
    let stream = LiveStream(
      "test", video: VideoSettings(sourceTimeout: .seconds(1000), renditions: .list([low])))
    stream.attachVideo(self.source)
    stream.add(self.main)
    async let start: Void = stream.start()
    try await stream.eventually { self.source.isStarted }
    self.source.deliver(at: StreamClock.system.now())
    try await start
    let like = try #require(stream.rendition(named: name))
    let encoding = try #require(stream.makePrivateRendition(like: like, bitrate: 50_000))
    let sliced = try #require(stream.makePrivateRendition(like: like, bitrate: 50_000, maximumSliceLength: 1146))
    #expect(sliced.encoding?.maximumSliceLength == 1146 && encoding.encoding?.maximumSliceLength == nil)
    #expect(!stream.renditions.contains(encoding))
    encoding.add(self.output)
    encoding.beginUse()
    try await stream.eventually { encoding.statistics.isRunning }
    self.source.deliver(at: StreamClock.system.now())
    #expect(self.output.samples(atLeast: 1).first?.isKeyframe == true)
    guard case .h264(let own)? = encoding.descriptions.first, case .h264(let all)? = stream.descriptions.first else {
      Issue.record("there is no description")
      return
    }
    #expect(own.width == (like.isMain ? all.width : 32) && own.height == (like.isMain ? all.height : 24))
    #expect(own.frameRate == (like.isMain ? all.frameRate : 15))
    // profile_idc and constraint flags.
    #expect(own.sequenceParameterSet[1..<3] == all.sequenceParameterSet[1..<3])
    #expect(encoding.bitrate == 50_000 && stream.videoBitrate != 50_000)
    stream.removePrivateRendition(encoding)
    #expect(self.output.hasEnded && !self.main.hasEnded)
    await stream.stop()
  }

  @Test(arguments: [(1000, 500), (2000, 500), (250, 250)] as [(Int64, Int64)])
  func `only an encoding for viewers has a rate control buffer of half a second at most`(length: Int64, own: Int64)
    async throws
  {
    let low = RenditionSettings(name: "low", width: 32, height: 24, bitrate: 100_000, frameRate: 15)
    let stream = LiveStream(
      "test",
      video: VideoSettings(
        sourceTimeout: .seconds(1000), renditions: .list([low]), rateBuffer: .milliseconds(length)))
    stream.attachVideo(self.source)
    async let start: Void = stream.start()
    try await stream.eventually { self.source.isStarted }
    self.source.deliver(at: StreamClock.system.now())
    try await start
    let forViewers = try #require(stream.makePrivateRendition(like: stream.main, bitrate: 50_000, isForViewers: true))
    let forPush = try #require(stream.makePrivateRendition(like: stream.main, bitrate: 50_000))
    #expect(forViewers.encoding?.rateBuffer == .milliseconds(own))
    #expect(forPush.encoding?.rateBuffer == .milliseconds(length))
    #expect(stream.rendition(named: "low")?.encoding?.rateBuffer == .milliseconds(length))
    await stream.stop()
  }

  @Test func `an encoding for viewers makes keyframes on request alone`() async throws {
    // One frame in a keyframe interval.
    let stream = LiveStream(
      "test", video: VideoSettings(keyframeInterval: .milliseconds(33), sourceTimeout: .seconds(1000)))
    stream.attachVideo(self.source)
    stream.add(self.main)
    async let start: Void = stream.start()
    try await stream.eventually { self.source.isStarted }
    self.source.deliver(at: StreamClock.system.now())
    try await start
    let encoding = try #require(stream.makePrivateRendition(like: stream.main, bitrate: 50_000, isForViewers: true))
    encoding.add(self.output)
    encoding.beginUse()
    try await stream.eventually { encoding.statistics.isRunning }
    // The last frame may be repeated between these.
    for _ in 0..<4 {
      let time = StreamClock.system.now()
      self.source.deliver(at: time)
      #expect(self.output.first { $0.presentationTime == time } != nil)
      #expect(self.main.first { $0.presentationTime == time }?.isKeyframe == true)
    }
    #expect(self.output.samples.map(\.isKeyframe).firstIndex(of: true) == 0)
    #expect(self.output.samples.count(where: \.isKeyframe) == 1)
    encoding.requestKeyframe()
    self.source.deliver(at: StreamClock.system.now())
    try await stream.eventually { self.output.samples.count(where: \.isKeyframe) == 2 }
    await stream.stop()
  }

  @Test(arguments: [false, true])
  func `a viewer of a source that shows nothing new, or of a paused stream, has a keyframe`(isPaused: Bool) async throws
  {
    var settings = VideoSettings(sourceTimeout: .seconds(1000))
    settings.pausedInterval = .seconds(1000)
    let stream = LiveStream("test", video: settings)
    stream.attachVideo(self.source)
    stream.add(self.main)
    async let start: Void = stream.start()
    try await stream.eventually { self.source.isStarted }
    self.source.deliver(at: StreamClock.system.now())
    try await start
    stream.isEncodingPaused = isPaused
    let encoding = try #require(stream.makePrivateRendition(like: stream.main, bitrate: 50_000, isForViewers: true))
    encoding.add(self.output)
    encoding.beginUse()
    try await stream.eventually { encoding.statistics.isRunning }
    for count in 1...2 {
      encoding.requestKeyframe()
      try await stream.eventually { self.output.samples.count(where: \.isKeyframe) >= count }
    }
    await stream.stop()
  }
}
