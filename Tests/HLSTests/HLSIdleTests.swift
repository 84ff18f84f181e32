import HLS
import HLSRules
import Media
import NIOCore
import Testing

@Suite("HLS: idle and active")
struct HLSIdleTests {
  @Test func `without requests nothing is packaged`() {
    var broadcast = Broadcast()
    broadcast.watched = []
    broadcast.run(until: 5_000)
    #expect(broadcast.stream.statistics == HLSStatistics())
    #expect(broadcast.stream.deadline == nil)
    #expect(broadcast.keyframeRequests == 0)
    for file in ["a1b2-0.ts", "a1b2-0.0.m4s", "a1b2-init1.mp4"] { #expect(broadcast.ask(file) == .notFound) }
    #expect(!broadcast.stream.isActive)
    #expect(broadcast.ask("live.m3u8", "_HLS_msn=x") == .badRequest("_HLS_msn is not a decimal number below 2^53"))
    #expect(!broadcast.stream.isActive)
  }

  @Test func `discarded segments are gone, and the stream continues after a discontinuity at a keyframe`() {
    var broadcast = Broadcast()
    broadcast.fetchesFiles = true
    broadcast.run(until: 5_000)
    let earlier = MediaPlaylistText(broadcast.text("live.m3u8") ?? "")
    var files = ["a1b2-0.ts", "a1b2-0.m4s", "a1b2-init1.mp4"] + earlier.hints
    for number in 1..<6 { files += ["a1b2-\(number).ts", "a1b2-\(number).m4s", "a1b2-\(number).0.m4s"] }
    let requests = broadcast.keyframeRequests
    broadcast.perform(broadcast.stream.discardEarlier())
    #expect(broadcast.keyframeRequests == requests + 1 && broadcast.stream.statistics.windowBytes == 0)
    for file in files { #expect(broadcast.ask(file) == .gone, "\(file)") }
    #expect(broadcast.ask("a1b2-9.ts") == .notFound && broadcast.ask("a1b2-init3.mp4") == .notFound)
    #expect(broadcast.ask("live.m3u8") == .wait(until: broadcast.now + .seconds(3)))
    broadcast.run(until: 9_000)
    let text = broadcast.text("live.m3u8") ?? ""
    #expect(text.contains("#EXT-X-DISCONTINUITY"))
    for file in files {
      #expect(!text.contains(file))
      #expect(broadcast.ask(file) == .gone, "\(file)")
    }
    #expect(broadcast.violations.isEmpty, "\(broadcast.violations)")
  }

  @Test func `an idle stream has nothing to discard, and an ended one is gone too`() {
    var broadcast = Broadcast()
    #expect(broadcast.stream.discardEarlier() == .none)
    broadcast.run(until: 3_000)
    _ = broadcast.stream.end()
    #expect(broadcast.stream.discardEarlier() == HLSEffects(wakesRequests: true))
    #expect(broadcast.ask("a1b2-0.ts") == .gone && broadcast.ask("playlist.m3u8") == .notFound)
  }

  @Test(arguments: ["live.m3u8", "playlist.m3u8"])
  func `the first viewer has a playlist after a short segment`(file: String) {

    var broadcast = Broadcast()
    broadcast.watched = []
    broadcast.run(until: 5_010)
    let request = HLSRequest(file: file, arrival: broadcast.now)
    #expect(request.map { broadcast.ask($0) } == .wait(until: broadcast.now + .seconds(3)))
    #expect(broadcast.keyframeRequests == 1)
    // At most half a target duration, one frame, and the latency of video and audio.
    broadcast.run(until: 5_010 + 500 + 34 + 60 + 22)
    guard case .content? = request.map({ broadcast.ask($0) }) else {
      Issue.record("no playlist")
      return
    }
    #expect(broadcast.stream.statistics.activations == 1)
  }

  @Test func `by default a playlist starts with three short segments, and earlier with _HLS_part`() throws {
    var configuration = Broadcast.configuration
    configuration.startSegments = 3
    var broadcast = Broadcast(configuration: configuration)
    broadcast.watched = []
    let start = broadcast.now
    let files = ["live.m3u8", "playlist.m3u8"]
    let requests = files.compactMap { HLSRequest(file: $0, arrival: start) }
    let first = try #require(HLSRequest(file: "live.m3u8", query: "_HLS_msn=0&_HLS_part=0", arrival: start))
    for request in requests + [first] { #expect(broadcast.ask(request) == .wait(until: start + .seconds(3))) }

    broadcast.run(until: 200 + 34 + 60 + 22)
    guard case .content(let early) = broadcast.ask(first) else {
      Issue.record("no playlist of the first part")
      return
    }
    #expect(MediaPlaylistText(String(buffer: early.body)).segments.map(\.parts.count) == [1])
    for request in requests { #expect(broadcast.ask(request) == .wait(until: start + .seconds(3))) }

    broadcast.run(until: 3 * (500 + 34) + 60 + 22)
    for file in files {
      let segments = MediaPlaylistText(broadcast.text(file) ?? "").segments
      #expect(segments.prefix(3).allSatisfy { $0.duration < 0.6 }, "\(file)")
      #expect(segments.count >= 3, "\(file)")
    }
    broadcast.run(until: 6_000)
    let later = MediaPlaylistText(broadcast.text("playlist.m3u8") ?? "").segments
    #expect(later.count > 4, "\(later.map(\.duration))")
    #expect(later.dropFirst(3).allSatisfy { $0.duration > 0.9 })
  }

  @Test func `a request for an old segment number has a short cache lifetime`() throws {
    var broadcast = Broadcast()
    broadcast.run(until: 20_000)
    guard case .content(let content) = broadcast.ask("live.m3u8", "_HLS_msn=0&_HLS_part=0") else {
      Issue.record("no playlist")
      return
    }
    #expect(content.caching == .short(.milliseconds(500)))
  }

  @Test func `ten seconds after the last request everything is released but the sequence numbers`() {
    var broadcast = Broadcast()
    broadcast.run(until: 5_000)
    broadcast.watched = []
    _ = broadcast.text("live.m3u8")
    broadcast.run(until: 14_999)
    #expect(broadcast.stream.isActive)
    let parts = broadcast.stream.statistics.parts
    #expect(parts > 60)
    broadcast.run(until: 15_050)
    #expect(!broadcast.stream.isActive)
    #expect(broadcast.stream.statistics.windowBytes == 0)
    #expect(broadcast.ask("a1b2-13.ts") == .notFound)
    broadcast.run(until: 30_000)
    #expect(broadcast.stream.statistics.parts <= parts + 1)

    broadcast.watched = ["live.m3u8", "playlist.m3u8"]
    broadcast.run(until: 33_000)
    let playlist = MediaPlaylistText(broadcast.text("playlist.m3u8") ?? "")
    #expect(playlist.mediaSequence >= 15)
    #expect(playlist.segments.map(\.hasDiscontinuity) == [true, false, false])
    #expect(playlist.discontinuitySequence == 0)
    broadcast.run(until: 60_000)
    #expect(broadcast.violations == [])
    #expect(MediaPlaylistText(broadcast.text("playlist.m3u8") ?? "").discontinuitySequence == 1)
  }

  /// Watches, lets all viewers leave, changes something, and watches again.
  ///
  /// - Returns: All target durations that playlists had.
  private func targets(keyframeInterval: Int, after change: (inout Broadcast) -> Void) -> Set<Int?> {
    var settings = Broadcast.Settings()
    settings.heedsRequests = false
    settings.keyframeInterval = keyframeInterval
    var broadcast = Broadcast(settings)
    let watched = broadcast.watched
    var targets: Set<Int?> = []
    func watch(until end: Int64) {
      broadcast.watched = watched
      while broadcast.milliseconds < end {
        broadcast.run(until: broadcast.milliseconds + 500)
        for file in watched {
          if let text = broadcast.text(file) { targets.insert(MediaPlaylistText(text).targetDuration) }
        }
      }
      #expect(watched.allSatisfy { broadcast.text($0) != nil })
    }
    watch(until: 45_000)
    broadcast.watched = []
    broadcast.run(until: 90_000)
    #expect(!broadcast.stream.isActive)
    change(&broadcast)
    watch(until: 130_000)
    #expect(broadcast.violations == [])
    return targets
  }

  @Test func `a player that returns meets the same target duration, though keyframes have become rare`() {
    #expect(self.targets(keyframeInterval: 60) { $0.settings.keyframeInterval = 300 } == [2])
  }

  @Test func `a player that returns meets the same target duration, though another source has taken over`() {
    let targets = self.targets(keyframeInterval: 300) { broadcast in
      broadcast.settings.keyframeInterval = 30
      let other = H264Description(
        sequenceParameterSet: [0x67, 0x42, 0x00, 0x1e], pictureParameterSet: [0x68, 0xce], width: 640, height: 360,
        frameRate: 30)
      broadcast.perform(broadcast.stream.change(to: [.h264(other), Broadcast.audio]))
    }
    #expect(targets == [10])
  }

  @Test func `a request that waits for a keyframe is answered once the source is encoded, however long it has waited`()
    throws
  {
    var settings = Broadcast.Settings()
    settings.heedsRequests = false
    settings.keyframeInterval = 360
    var configuration = Broadcast.configuration
    configuration.startSegments = 3
    var broadcast = Broadcast(settings, configuration: configuration)
    broadcast.watched = []
    broadcast.run(until: 1_000)
    let request = try #require(HLSRequest(file: "playlist.m3u8", arrival: broadcast.now))
    var answer = broadcast.ask(request)
    // Three target durations are over at 4 s.
    broadcast.run(until: 3_950)
    broadcast.settings.heedsRequests = true
    let other = H264Description(
      sequenceParameterSet: [0x67, 0x42, 0x00, 0x1e], pictureParameterSet: [0x68, 0xce], width: 640, height: 360,
      frameRate: 30)
    broadcast.perform(broadcast.stream.change(to: [.h264(other), Broadcast.audio]))
    while case .wait = answer, broadcast.milliseconds < 10_000 {
      broadcast.run(until: broadcast.milliseconds + 50)
      answer = broadcast.ask(request)
    }
    guard case .content(let content) = answer else {
      Issue.record("\(answer) after \(broadcast.milliseconds) ms")
      return
    }
    #expect(MediaPlaylistText(String(buffer: content.body)).targetDuration == 1)
    #expect(broadcast.milliseconds < 7_000, "\(broadcast.milliseconds) ms")
  }

  @Test func `a target duration that must rise for longer frames comes with new addresses`() {
    var broadcast = Broadcast()
    broadcast.run(until: 5_000)
    broadcast.watched = []
    broadcast.run(until: 20_000)
    #expect(!broadcast.stream.isActive && broadcast.ask("a1b2-1.ts") == .notFound)
    broadcast.perform(broadcast.stream.change(to: [Broadcast.video(FrameRate(1, over: 3)), Broadcast.audio]))
    #expect(broadcast.stream.targetDuration == .seconds(4))
    for file in ["a1b2-1.ts", "a1b2-1.m4s", "a1b2-init1.mp4"] { #expect(broadcast.ask(file) == .gone, "\(file)") }
  }

  @Test func `with keyframes twelve seconds apart a viewer that polls at that interval keeps the segments`() {
    var settings = Broadcast.Settings()
    settings.heedsRequests = false
    settings.keyframeInterval = 360
    var broadcast = Broadcast(settings)
    broadcast.run(until: 45_000)
    broadcast.watched = []
    for time in [57_000, 69_000, 81_000] as [Int64] {
      broadcast.run(until: time)
      #expect(broadcast.stream.isActive)
      let playlist = MediaPlaylistText(broadcast.text("playlist.m3u8") ?? "")
      #expect(playlist.segments.count >= 2)
    }
    broadcast.run(until: 81_000 + 36_100)
    #expect(!broadcast.stream.isActive)
  }

  @Test(arguments: [(30, 1), (360, 12)])
  func `cache lifetimes and the start of a playlist follow the target duration`(interval: Int, target: Int64) throws {
    var settings = Broadcast.Settings()
    settings.heedsRequests = false
    settings.keyframeInterval = interval
    var configuration = Broadcast.configuration
    configuration.startSegments = 3
    var broadcast = Broadcast(settings, configuration: configuration)
    broadcast.watched = []
    let request = try #require(HLSRequest(file: "playlist.m3u8", arrival: broadcast.now))
    while case .wait = broadcast.ask(request), broadcast.now - request.arrival < .seconds(60) {
      broadcast.run(until: broadcast.milliseconds + 100)
    }
    let playlist = MediaPlaylistText(broadcast.text("playlist.m3u8") ?? "")
    #expect(playlist.segments.count == (target == 1 ? 3 : 2))
    #expect(broadcast.stream.targetDuration == .seconds(target))
    let segment = try #require(playlist.segments.last)
    guard case .content(let content) = broadcast.ask(segment.uri ?? "") else {
      Issue.record("no segment")
      return
    }
    #expect(content.caching == .media(.seconds(6 * target)))
  }

  @Test func `segment requests keep the session active too`() {
    var broadcast = Broadcast()
    broadcast.run(until: 5_000)
    broadcast.watched = []
    for second in 6...40 {
      broadcast.run(until: Int64(second) * 1000)
      _ = broadcast.ask("a1b2-\(second - 2).ts")
    }
    #expect(broadcast.stream.isActive)
  }

  @Test func `a request that is waiting when everything is released gets a response`() {
    let configuration = HLSConfiguration(
      token: "a", unixTimeAtZero: .zero, bitrate: 1, idleTime: .milliseconds(100))
    var broadcast = Broadcast(configuration: configuration)
    broadcast.watched = []
    let request = HLSRequest(file: "playlist.m3u8", arrival: broadcast.now)
    #expect(request.map { broadcast.ask($0) } == .wait(until: broadcast.now + .seconds(3)))
    let wakeUps = broadcast.wakeUps
    broadcast.run(until: 200)
    #expect(broadcast.wakeUps == wakeUps + 1)
    #expect(request.map { broadcast.ask($0) } == .wait(until: Broadcast.start + .seconds(3)))
    #expect(broadcast.stream.isActive)
  }

  @Test func `a stream that ended before any request has no playlist`() {
    var broadcast = Broadcast()
    broadcast.watched = []
    #expect(broadcast.stream.end() == HLSEffects(wakesRequests: true))
    #expect(broadcast.stream.end() == .none)
    for file in ["live.m3u8", "playlist.m3u8"] { #expect(broadcast.ask(file) == .notFound) }
  }
}
