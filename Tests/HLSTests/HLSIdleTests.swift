import HLS
import HLSRules
import Media
import NIOCore
import Testing

@Suite("HLS: idle and active")
struct HLSIdleTests {
  @Test func `without requests nothing is packaged`() {
    var simulation = StreamSimulation()
    simulation.watched = []
    simulation.run(until: 5_000)
    #expect(simulation.stream.statistics == HLSStatistics())
    #expect(simulation.stream.deadline == nil)
    #expect(simulation.keyframeRequests == 0)
    for file in ["a1b2-0.ts", "a1b2-0.0.m4s", "a1b2-init1.mp4"] { #expect(simulation.ask(file) == .notFound) }
    #expect(!simulation.stream.isActive)
    #expect(simulation.ask("live.m3u8", "_HLS_msn=x") == .badRequest("_HLS_msn is not a decimal number below 2^53"))
    #expect(!simulation.stream.isActive)
  }

  @Test func `discarded segments are gone, and the stream continues after a discontinuity at a keyframe`() {
    var simulation = StreamSimulation()
    simulation.fetchesFiles = true
    simulation.run(until: 5_000)
    let earlier = MediaPlaylistText(simulation.text("live.m3u8") ?? "")
    var files = ["a1b2-0.ts", "a1b2-0.m4s", "a1b2-init1.mp4"] + earlier.hints
    for number in 1..<6 { files += ["a1b2-\(number).ts", "a1b2-\(number).m4s", "a1b2-\(number).0.m4s"] }
    let requests = simulation.keyframeRequests
    simulation.perform(simulation.stream.discardEarlier())
    #expect(simulation.keyframeRequests == requests + 1 && simulation.stream.statistics.windowBytes == 0)
    for file in files { #expect(simulation.ask(file) == .gone, "\(file)") }
    #expect(simulation.ask("a1b2-9.ts") == .notFound && simulation.ask("a1b2-init3.mp4") == .notFound)
    #expect(simulation.ask("live.m3u8") == .wait(until: simulation.now + .seconds(3)))
    simulation.run(until: 9_000)
    let text = simulation.text("live.m3u8") ?? ""
    #expect(text.contains("#EXT-X-DISCONTINUITY"))
    for file in files {
      #expect(!text.contains(file))
      #expect(simulation.ask(file) == .gone, "\(file)")
    }
    #expect(simulation.violations.isEmpty, "\(simulation.violations)")
  }

  @Test func `an idle stream has nothing to discard, and an ended one is gone too`() {
    var simulation = StreamSimulation()
    #expect(simulation.stream.discardEarlier() == .none)
    simulation.run(until: 3_000)
    _ = simulation.stream.end()
    #expect(simulation.stream.discardEarlier() == HLSEffects(wakesRequests: true))
    #expect(simulation.ask("a1b2-0.ts") == .gone && simulation.ask("playlist.m3u8") == .notFound)
  }

  @Test(arguments: ["live.m3u8", "playlist.m3u8"])
  func `the first viewer has a playlist after a short segment`(file: String) {

    var simulation = StreamSimulation()
    simulation.watched = []
    simulation.run(until: 5_010)
    let request = HLSRequest(file: file, arrival: simulation.now)
    #expect(request.map { simulation.ask($0) } == .wait(until: simulation.now + .seconds(3)))
    #expect(simulation.keyframeRequests == 1)
    // At most half a target duration, one frame, and the latency of video and audio.
    simulation.run(until: 5_010 + 500 + 34 + 60 + 22)
    guard case .content? = request.map({ simulation.ask($0) }) else {
      Issue.record("no playlist")
      return
    }
    #expect(simulation.stream.statistics.activations == 1)
  }

  @Test func `by default a playlist starts with three short segments, and earlier with _HLS_part`() throws {
    var configuration = StreamSimulation.configuration
    configuration.startSegments = 3
    var simulation = StreamSimulation(configuration: configuration)
    simulation.watched = []
    let start = simulation.now
    let files = ["live.m3u8", "playlist.m3u8"]
    let requests = files.compactMap { HLSRequest(file: $0, arrival: start) }
    let first = try #require(HLSRequest(file: "live.m3u8", query: "_HLS_msn=0&_HLS_part=0", arrival: start))
    for request in requests + [first] { #expect(simulation.ask(request) == .wait(until: start + .seconds(3))) }

    simulation.run(until: 200 + 34 + 60 + 22)
    guard case .content(let early) = simulation.ask(first) else {
      Issue.record("no playlist of the first part")
      return
    }
    #expect(MediaPlaylistText(String(buffer: early.body)).segments.map(\.parts.count) == [1])
    for request in requests { #expect(simulation.ask(request) == .wait(until: start + .seconds(3))) }

    simulation.run(until: 3 * (500 + 34) + 60 + 22)
    for file in files {
      let segments = MediaPlaylistText(simulation.text(file) ?? "").segments
      #expect(segments.prefix(3).allSatisfy { $0.duration < 0.6 }, "\(file)")
      #expect(segments.count >= 3, "\(file)")
    }
    simulation.run(until: 6_000)
    let later = MediaPlaylistText(simulation.text("playlist.m3u8") ?? "").segments
    #expect(later.count > 4, "\(later.map(\.duration))")
    #expect(later.dropFirst(3).allSatisfy { $0.duration > 0.9 })
  }

  @Test func `a request for an old segment number has a short cache lifetime`() throws {
    var simulation = StreamSimulation()
    simulation.run(until: 20_000)
    guard case .content(let content) = simulation.ask("live.m3u8", "_HLS_msn=0&_HLS_part=0") else {
      Issue.record("no playlist")
      return
    }
    #expect(content.caching == .short(.milliseconds(500)))
  }

  @Test func `ten seconds after the last request everything is released but the sequence numbers`() {
    var simulation = StreamSimulation()
    simulation.run(until: 5_000)
    simulation.watched = []
    _ = simulation.text("live.m3u8")
    simulation.run(until: 14_999)
    #expect(simulation.stream.isActive)
    let parts = simulation.stream.statistics.parts
    #expect(parts > 60)
    simulation.run(until: 15_050)
    #expect(!simulation.stream.isActive)
    #expect(simulation.stream.statistics.windowBytes == 0)
    #expect(simulation.ask("a1b2-13.ts") == .notFound)
    simulation.run(until: 30_000)
    #expect(simulation.stream.statistics.parts <= parts + 1)

    simulation.watched = ["live.m3u8", "playlist.m3u8"]
    simulation.run(until: 33_000)
    let playlist = MediaPlaylistText(simulation.text("playlist.m3u8") ?? "")
    #expect(playlist.mediaSequence >= 15)
    #expect(playlist.segments.map(\.hasDiscontinuity) == [true, false, false])
    #expect(playlist.discontinuitySequence == 0)
    simulation.run(until: 60_000)
    #expect(simulation.violations == [])
    #expect(MediaPlaylistText(simulation.text("playlist.m3u8") ?? "").discontinuitySequence == 1)
  }

  /// Watches, lets all viewers leave, changes something, and watches again.
  ///
  /// - Returns: All target durations that playlists had.
  private func targets(keyframeInterval: Int, after change: (inout StreamSimulation) -> Void) -> Set<Int?> {
    var settings = StreamSimulation.Settings()
    settings.heedsRequests = false
    settings.keyframeInterval = keyframeInterval
    var simulation = StreamSimulation(settings)
    let watched = simulation.watched
    var targets: Set<Int?> = []
    func watch(until end: Int64) {
      simulation.watched = watched
      while simulation.milliseconds < end {
        simulation.run(until: simulation.milliseconds + 500)
        for file in watched {
          if let text = simulation.text(file) { targets.insert(MediaPlaylistText(text).targetDuration) }
        }
      }
      #expect(watched.allSatisfy { simulation.text($0) != nil })
    }
    watch(until: 45_000)
    simulation.watched = []
    simulation.run(until: 90_000)
    #expect(!simulation.stream.isActive)
    change(&simulation)
    watch(until: 130_000)
    #expect(simulation.violations == [])
    return targets
  }

  @Test func `a player that returns meets the same target duration, though keyframes have become rare`() {
    #expect(self.targets(keyframeInterval: 60) { $0.settings.keyframeInterval = 300 } == [2])
  }

  @Test func `a player that returns meets the same target duration, though another source has taken over`() {
    let targets = self.targets(keyframeInterval: 300) { simulation in
      simulation.settings.keyframeInterval = 30
      let other = H264Description(
        sequenceParameterSet: [0x67, 0x42, 0x00, 0x1e], pictureParameterSet: [0x68, 0xce], width: 640, height: 360,
        frameRate: 30)
      simulation.perform(simulation.stream.change(to: [.h264(other), StreamSimulation.audio]))
    }
    #expect(targets == [10])
  }

  @Test func `a request that waits for a keyframe is answered once the source is encoded, however long it has waited`()
    throws
  {
    var settings = StreamSimulation.Settings()
    settings.heedsRequests = false
    settings.keyframeInterval = 360
    var configuration = StreamSimulation.configuration
    configuration.startSegments = 3
    var simulation = StreamSimulation(settings, configuration: configuration)
    simulation.watched = []
    simulation.run(until: 1_000)
    let request = try #require(HLSRequest(file: "playlist.m3u8", arrival: simulation.now))
    var answer = simulation.ask(request)
    // Three target durations are over at 4 s.
    simulation.run(until: 3_950)
    simulation.settings.heedsRequests = true
    let other = H264Description(
      sequenceParameterSet: [0x67, 0x42, 0x00, 0x1e], pictureParameterSet: [0x68, 0xce], width: 640, height: 360,
      frameRate: 30)
    simulation.perform(simulation.stream.change(to: [.h264(other), StreamSimulation.audio]))
    while case .wait = answer, simulation.milliseconds < 10_000 {
      simulation.run(until: simulation.milliseconds + 50)
      answer = simulation.ask(request)
    }
    guard case .content(let content) = answer else {
      Issue.record("\(answer) after \(simulation.milliseconds) ms")
      return
    }
    #expect(MediaPlaylistText(String(buffer: content.body)).targetDuration == 1)
    #expect(simulation.milliseconds < 7_000, "\(simulation.milliseconds) ms")
  }

  @Test func `a target duration that must rise for longer frames comes with new addresses`() {
    var simulation = StreamSimulation()
    simulation.run(until: 5_000)
    simulation.watched = []
    simulation.run(until: 20_000)
    #expect(!simulation.stream.isActive && simulation.ask("a1b2-1.ts") == .notFound)
    simulation.perform(
      simulation.stream.change(to: [StreamSimulation.video(FrameRate(1, over: 3)), StreamSimulation.audio]))
    #expect(simulation.stream.targetDuration == .seconds(4))
    for file in ["a1b2-1.ts", "a1b2-1.m4s", "a1b2-init1.mp4"] { #expect(simulation.ask(file) == .gone, "\(file)") }
  }

  @Test func `with keyframes twelve seconds apart a viewer that polls at that interval keeps the segments`() {
    var settings = StreamSimulation.Settings()
    settings.heedsRequests = false
    settings.keyframeInterval = 360
    var simulation = StreamSimulation(settings)
    simulation.run(until: 45_000)
    simulation.watched = []
    for time in [57_000, 69_000, 81_000] as [Int64] {
      simulation.run(until: time)
      #expect(simulation.stream.isActive)
      let playlist = MediaPlaylistText(simulation.text("playlist.m3u8") ?? "")
      #expect(playlist.segments.count >= 2)
    }
    simulation.run(until: 81_000 + 36_100)
    #expect(!simulation.stream.isActive)
  }

  @Test(arguments: [(30, 1), (360, 12)])
  func `cache lifetimes and the start of a playlist follow the target duration`(interval: Int, target: Int64) throws {
    var settings = StreamSimulation.Settings()
    settings.heedsRequests = false
    settings.keyframeInterval = interval
    var configuration = StreamSimulation.configuration
    configuration.startSegments = 3
    var simulation = StreamSimulation(settings, configuration: configuration)
    simulation.watched = []
    let request = try #require(HLSRequest(file: "playlist.m3u8", arrival: simulation.now))
    while case .wait = simulation.ask(request), simulation.now - request.arrival < .seconds(60) {
      simulation.run(until: simulation.milliseconds + 100)
    }
    let playlist = MediaPlaylistText(simulation.text("playlist.m3u8") ?? "")
    #expect(playlist.segments.count == (target == 1 ? 3 : 2))
    #expect(simulation.stream.targetDuration == .seconds(target))
    let segment = try #require(playlist.segments.last)
    guard case .content(let content) = simulation.ask(segment.uri ?? "") else {
      Issue.record("no segment")
      return
    }
    #expect(content.caching == .media(.seconds(6 * target)))
  }

  @Test func `segment requests keep the session active too`() {
    var simulation = StreamSimulation()
    simulation.run(until: 5_000)
    simulation.watched = []
    for second in 6...40 {
      simulation.run(until: Int64(second) * 1000)
      _ = simulation.ask("a1b2-\(second - 2).ts")
    }
    #expect(simulation.stream.isActive)
  }

  @Test func `a request that is waiting when everything is released gets a response`() {
    let configuration = HLSConfiguration(
      token: "a", unixTimeAtZero: .zero, bitrate: 1, idleTime: .milliseconds(100))
    var simulation = StreamSimulation(configuration: configuration)
    simulation.watched = []
    let request = HLSRequest(file: "playlist.m3u8", arrival: simulation.now)
    #expect(request.map { simulation.ask($0) } == .wait(until: simulation.now + .seconds(3)))
    let wakeUps = simulation.wakeUps
    simulation.run(until: 200)
    #expect(simulation.wakeUps == wakeUps + 1)
    #expect(request.map { simulation.ask($0) } == .wait(until: StreamSimulation.start + .seconds(3)))
    #expect(simulation.stream.isActive)
  }

  @Test func `a stream that ended before any request has no playlist`() {
    var simulation = StreamSimulation()
    simulation.watched = []
    #expect(simulation.stream.end() == HLSEffects(wakesRequests: true))
    #expect(simulation.stream.end() == .none)
    for file in ["live.m3u8", "playlist.m3u8"] { #expect(simulation.ask(file) == .notFound) }
  }
}
