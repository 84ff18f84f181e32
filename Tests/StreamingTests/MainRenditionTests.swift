import Capture
import Media
import Testing
import Threading

@testable import Streaming

@Suite("The main rendition as one of all", .timeLimit(.minutes(5)))
struct MainRenditionTests {
  private let source = ScriptedVideoCapturer()
  private let output = CollectingOutput()

  @Test func `it has the stream's name, bitrate, samples and counters, and needs no use`() async throws {
    let low = RenditionSettings(name: "low", width: 32, height: 24, bitrate: 100_000)
    let stream = LiveStream(
      "käm/a", video: VideoSettings(bitrate: 300_000, sourceTimeout: .seconds(1000), renditions: .list([low])))
    let main = stream.main
    #expect(main.isMain && main.name == "main" && main.settings == nil && main.format == nil)
    #expect(main.qualifiedName == "käm/a" && main.path == "/k%C3%A4m/a" && main.descriptions.isEmpty)
    #expect(stream.rendition(named: "main") == main && stream.rendition(named: "low") == nil)
    stream.attachVideo(self.source)
    main.add(self.output)
    async let start: Void = stream.start()
    try await stream.eventually { self.source.isStarted }
    self.source.deliver(at: StreamClock.system.now())
    try await start
    #expect(self.output.samples(atLeast: 1).count == 1)
    #expect(main.descriptions == stream.descriptions && main.statistics.isRunning)
    #expect(main.statistics.framesEncoded == 1 && main.statistics.keyframes == 1 && main.failure == nil)

    main.bitrate = 200_000
    #expect(stream.videoBitrate == 200_000 && main.currentBitrate == 200_000)
    #expect(try await main.prepare() == stream.descriptions)

    let other = try #require(stream.rendition(named: "low"))
    #expect(!other.isMain && other != main && other == stream.renditions.first)
    #expect(other.qualifiedName == "käm/a/low" && other.path == "/k%C3%A4m/a/low" && other.settings == low)
    #expect(LiveStream("käm/a").main != main)

    let requests = stream.statistics.keyframeRequests
    main.requestKeyframe()
    main.forceKeyframe()
    #expect(stream.statistics.keyframeRequests == requests + 2)
    main.remove(self.output)
    await stream.stop()
    #expect(!self.output.hasEnded && main.failure?.code == .wrongState && main.hasFailed)
  }
}
