import HLS
import HLSRules
import Media
import NIOCore
import Testing

@Suite("HLS rules hold for every source")
struct HLSRatesTests {
  private static let rates: [(FrameRate, Int64)] = [
    (60, 0), (60, 5), (50, 0), (50, 6), (30, 0), (30, 3), (30, 10), (30, 16),
    (FrameRate(30_000, over: 1001), 0), (FrameRate(30_000, over: 1001), 8), (25, 0), (25, 12), (24, 0), (24, 10),
    (20, 15), (15, 0), (15, 20), (12, 5), (10, 0),
    (10, 30), (5, 0), (5, 40), (3, 0), (2, 100), (1, 0), (1, 100), (FrameRate(1, over: 2), 0), (120, 2), (240, 1),
  ]

  @Test(arguments: Self.rates)
  func `rules hold with audio, at any frame rate and jitter`(frameRate: FrameRate, jitter: Int64) throws {
    var settings = StreamSimulation.Settings()
    settings.frameRate = frameRate
    settings.jitter = .milliseconds(jitter)
    var simulation = StreamSimulation(settings)
    simulation.run(until: 18_000)
    #expect(simulation.violations == [])
    #expect(simulation.stream.statistics.segments >= 5)
    // Below one frame per second the target duration is 3 s: CAN-SKIP-UNTIL, six times that, is the whole stream.
    let deltaCount = try #require(simulation.checkers["live.m3u8"]).deltaCount
    #expect(frameRate < 1 ? deltaCount == 0 : deltaCount > 1, "\(deltaCount) delta updates")
  }

  private static let ratesWithoutAudio: [(FrameRate, Int64)] = [
    (30, 0), (30, 10), (25, 8), (15, 20), (5, 10), (1, 50),
  ]

  @Test(arguments: Self.ratesWithoutAudio)
  func `rules hold without audio`(frameRate: FrameRate, jitter: Int64) {
    var settings = StreamSimulation.Settings()
    settings.frameRate = frameRate
    settings.hasAudio = false
    settings.jitter = .milliseconds(jitter)
    var simulation = StreamSimulation(settings)
    simulation.run(until: 16_000)
    #expect(simulation.violations == [])
    #expect(simulation.stream.statistics.segments >= 7)
  }

  @Test func `samples that muxers skip are counted per muxer`() {
    var settings = StreamSimulation.Settings()
    settings.frameRate = nil
    var simulation = StreamSimulation(settings)
    simulation.run(until: 1_000)
    #expect(simulation.stream.statistics.droppedSamples == 0)
    let empty = EncodedSample(
      kind: .audio, payload: ByteBuffer(), presentationTime: simulation.now - .milliseconds(60) + .microseconds(1),
      duration: .milliseconds(21), isKeyframe: true)
    _ = simulation.stream.consume(empty, at: simulation.now)
    simulation.run(until: 2_000)
    #expect(simulation.stream.statistics.droppedSamples == 2)
  }

  @Test func `rules hold without video`() {
    var settings = StreamSimulation.Settings()
    settings.frameRate = nil
    var simulation = StreamSimulation(settings)
    simulation.fetchesFiles = true
    simulation.run(until: 20_000)
    #expect(simulation.violations == [])
    #expect((17...21).contains(simulation.stream.statistics.segments))
    #expect(simulation.keyframeRequests == 0)
  }

  private static let delays: [(Int64, Int64)] = [(0, 0), (0, 150), (150, 0), (300, 10), (10, 300), (1000, 900)]

  @Test(arguments: Self.delays)
  func `rules hold whichever track comes first`(videoDelay: Int64, audioDelay: Int64) {
    var settings = StreamSimulation.Settings()
    settings.videoDelay = .milliseconds(videoDelay)
    settings.audioDelay = .milliseconds(audioDelay)
    var simulation = StreamSimulation(settings)
    simulation.fetchesFiles = true
    simulation.run(until: 10_000)
    #expect(simulation.violations == [])
    #expect(simulation.stream.statistics.segments >= 7)
  }

  @Test(arguments: [true, false])
  func `rules hold for a source with one frame every 2 seconds, despite its nominal rate`(hasAudio: Bool) {
    var settings = StreamSimulation.Settings()
    settings.hasAudio = hasAudio
    settings.frameInterval = .seconds(2)
    settings.repeatsFrames = true
    var simulation = StreamSimulation(settings)
    simulation.run(until: 30_000)
    #expect(simulation.violations == [])
    #expect(simulation.stream.statistics.segments >= 14)
  }

  @Test func `a gap in the video gives audio segments`() {
    var settings = StreamSimulation.Settings()
    settings.videoTimes = 0..<10_000
    var simulation = StreamSimulation(settings)
    simulation.run(until: 30_000)
    #expect(simulation.violations == [])
    #expect(simulation.stream.statistics.segments >= 22)
  }

  @Test func `audio that stops gives video segments`() {
    var settings = StreamSimulation.Settings()
    settings.audioTimes = 0..<10_000
    var simulation = StreamSimulation(settings)
    simulation.run(until: 30_000)
    #expect(simulation.violations == [])
    #expect(simulation.stream.statistics.segments >= 27)
  }

  @Test func `a camera that never starts gives an audio-only stream`() {
    var settings = StreamSimulation.Settings()
    settings.videoTimes = 20_000..<Int64.max
    var simulation = StreamSimulation(settings)
    simulation.run(until: 30_000)
    #expect(simulation.violations == [])
    #expect(simulation.stream.statistics.segments >= 20)
  }

  @Test func `irregular keyframes give longer segments, and a target duration that covers them`() {
    var settings = StreamSimulation.Settings()
    settings.heedsRequests = false
    var simulation = StreamSimulation(settings)
    simulation.run(until: 20_000)
    #expect(simulation.violations == [])
    #expect(simulation.stream.statistics.segments == 9)
  }

  @Test func `groups of pictures that become longer never raise the target duration, and no frame is lost`() {
    var settings = StreamSimulation.Settings()
    settings.heedsRequests = false
    var simulation = StreamSimulation(settings)
    simulation.run(until: 10_000)
    #expect(simulation.text("playlist.m3u8")?.contains("#EXT-X-INDEPENDENT-SEGMENTS\n") == true)
    // From 2 s to 10 s.
    simulation.settings.keyframeInterval = 300
    var targets: Set<Int?> = []
    for time in stride(from: 10_500, to: 60_000, by: 500) as StrideTo<Int64> {
      simulation.run(until: time)
      for file in simulation.watched {
        let playlist = MediaPlaylistText(simulation.text(file) ?? "")
        targets.insert(playlist.targetDuration)
        #expect(playlist.segments.allSatisfy { $0.duration < 2.5 })
      }
    }
    #expect(targets == [2])
    #expect(simulation.violations == [])
    #expect(simulation.stream.statistics.droppedSamples == 0)
    // Not every segment starts with a keyframe any more.
    for file in simulation.watched + ["index.m3u8"] {
      #expect(simulation.text(file)?.contains("#EXT-X-INDEPENDENT-SEGMENTS") == false, "\(file)")
    }
  }

  @Test func `a group of pictures of more than 20 seconds is divided from the start, and no frame is lost`() {
    var settings = StreamSimulation.Settings()
    settings.heedsRequests = false
    settings.hasAudio = false
    settings.keyframeInterval = 990
    var configuration = StreamSimulation.configuration
    configuration.startSegments = 3
    var simulation = StreamSimulation(settings, configuration: configuration)
    var targets: Set<Int?> = []
    var first: Int64?
    for time in stride(from: 500, to: 100_000, by: 500) as StrideTo<Int64> {
      simulation.run(until: time)
      guard let text = simulation.text("playlist.m3u8") else { continue }
      let playlist = MediaPlaylistText(text)
      first = first ?? time
      targets.insert(playlist.targetDuration)
      #expect(playlist.segments.allSatisfy { $0.duration < 20.5 }, "\(playlist)")
      #expect(!playlist.isIndependent)
    }
    // The second segment ends with the keyframe after 33 s.
    #expect(first.map { 33_000...34_500 ~= $0 } ?? false, "\(first ?? 0) ms")
    #expect(targets == [20])
    #expect(simulation.violations == [])
    #expect(simulation.stream.statistics.droppedSamples == 0)
  }

  @Test func `no playlist promises a target duration before the source's interval is known`() throws {
    var settings = StreamSimulation.Settings()
    settings.heedsRequests = false
    settings.keyframeInterval = 300
    var simulation = StreamSimulation(settings)
    simulation.watched = []
    simulation.run(until: 3_000)
    let early = try #require(HLSRequest(file: "live.m3u8", query: "_HLS_msn=0&_HLS_part=0", arrival: simulation.now))
    guard case .wait = simulation.ask(early) else {
      Issue.record("a playlist before the first keyframe")
      return
    }
    // Keyframes at 10 s and 20 s; parts exist from 10 s on.
    for time in stride(from: 4_000, through: 20_000, by: 500) as StrideThrough<Int64> {
      simulation.run(until: time)
      let request = try #require(
        HLSRequest(file: "live.m3u8", query: "_HLS_msn=0&_HLS_part=0", arrival: simulation.now))
      guard case .wait = simulation.ask(request) else {
        Issue.record("a playlist after \(time) ms")
        return
      }
    }
    simulation.run(until: 20_500)
    guard case .content(let content) = simulation.ask(early) else {
      Issue.record("no playlist")
      return
    }
    #expect(MediaPlaylistText(String(buffer: content.body)).targetDuration == 10)
  }

  @Test func `what was learned about a source holds after the stream was inactive`() {
    var settings = StreamSimulation.Settings()
    settings.heedsRequests = false
    settings.keyframeInterval = 120
    var simulation = StreamSimulation(settings)
    simulation.run(until: 20_000)
    let watched = simulation.watched
    simulation.watched = []
    simulation.run(until: 40_000)
    #expect(!simulation.stream.isActive)
    simulation.watched = watched
    simulation.run(until: 60_000)
    #expect(MediaPlaylistText(simulation.text("playlist.m3u8") ?? "").targetDuration == 4)
    #expect(simulation.violations == [])
  }

  @Test func `without any keyframe memory is bounded and audio continues`() {
    var settings = StreamSimulation.Settings()
    settings.heedsRequests = false
    settings.keyframeInterval = 1_000_000
    // No part is added while waiting for a keyframe, and the simulated viewer requests playlists only then.
    var configuration = StreamSimulation.configuration
    configuration.idleTime = .seconds(30)
    var simulation = StreamSimulation(settings, configuration: configuration)
    simulation.run(until: 60_000)
    let statistics = simulation.stream.statistics
    #expect(statistics.windowBytes < 1_000_000)
    #expect(statistics.segments >= 30)
  }
}
