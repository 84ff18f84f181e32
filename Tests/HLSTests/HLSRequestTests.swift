import HLS
import HLSRules
import Media
import NIOCore
import Testing

@Suite("HLS requests, draft-pantos-hls-rfc8216bis §6.2.5")
struct HLSRequestTests {
  @Test(arguments: [
    "", "index.m3u", "Index.m3u8", "live.m3u8 ", "a-1", "a-.ts", "-1.ts", "a-1.ts.ts", "a-01.ts", "a-+1.ts", "a--1.ts",
    "a-1.2.ts", "a-1.2.3.m4s", "a-1..m4s", "a-1.mp4", "a-init.mp4", "a-init01.mp4", "a-99999999999999999999.ts",
    "a-9007199254740993.ts", "a-1.-1.m4s", "a-\u{661}.ts", "snapshot.jpg", "../a-1.ts/..",
    String(repeating: "a", count: 200) + "-1.ts",
  ]) func `a file name of no playlist, segment or part is not handled`(file: String) {
    #expect(HLSRequest(file: file, arrival: .zero) == nil)
  }

  @Test(arguments: [
    "_HLS_msn=", "_HLS_msn=x", "_HLS_msn=-1", "_HLS_msn=1e3", "_HLS_msn=+1", "_HLS_msn=1.0", "_HLS_msn= 1", "_HLS_msn",
    "_HLS_msn=99999999999999999999", "_HLS_msn=9007199254740993", "_HLS_msn=1&_HLS_msn=2", "_HLS_part=0",
    "_HLS_part=0&a=b", "_HLS_msn=1&_HLS_part=", "_HLS_msn=1&_HLS_part=-1", "_HLS_msn=1&_HLS_part=x",
    "_HLS_msn=1&_HLS_part=18446744073709551616", "_HLS_msn=%31", "_HLS_msn=\u{661}",
    // At 5 s segments 0 to 4 are complete, so 7 is too far ahead.
    "_HLS_msn=7", "_HLS_msn=9007199254740992", "_HLS_msn=5&_HLS_part=999", "_HLS_msn=2&_HLS_part=999",
  ]) func `a directive that cannot be fulfilled is a bad request`(query: String) throws {
    var simulation = StreamSimulation()
    simulation.run(until: 5_000)
    for file in ["live.m3u8", "playlist.m3u8"] {
      let response = simulation.ask(file, query)
      // A playlist without parts treats a part directive like its segment.
      if file == "playlist.m3u8", query.hasSuffix("_HLS_part=999") { continue }
      guard case .badRequest(let reason)? = response else {
        Issue.record("\(file)?\(query): \(String(describing: response))")
        continue
      }
      #expect(!reason.isEmpty)
    }
  }

  @Test(arguments: [
    "_HLS_msn=4", "_HLS_msn=0", "_HLS_msn=0004", "_HLS_msn=4&_HLS_msn=4", "a=b&_HLS_msn=4&c", "_HLS_msn=4&_HLS_part=2",
    "_HLS_msn=4&_HLS_part=5", "&&_HLS_msn=4&", "_HLS_push=1&_HLS_msn=3", "_HLS_report=x", "x_HLS_msn=9",
    "_HLS_skip=maybe",
  ]) func `existing files are answered at once, and unknown parameters are ignored`(query: String) {
    var simulation = StreamSimulation()
    // Segment 4 lasts from 3.5 to 4.5 s; a sixth part of it would be the first of segment 5.
    simulation.run(until: 5_000)
    #expect(simulation.text("live.m3u8", query) == simulation.text("live.m3u8"))
  }

  @Test func `a playlist waits for a part`() {
    var simulation = StreamSimulation()
    simulation.run(until: 5_000)
    let arrival = simulation.now
    // The parts of segment 5 start at 4.5, 4.7, 4.9 s: the third is complete when video and audio have reached 5.1 s.
    let request = HLSRequest(file: "live.m3u8", query: "_HLS_msn=5&_HLS_part=2", arrival: arrival)
    #expect(request.map { simulation.ask($0) } == .wait(until: arrival + .seconds(3)))
    let wakeUps = simulation.wakeUps
    simulation.run(until: 5_130)
    #expect(request.map { simulation.ask($0) } == .wait(until: arrival + .seconds(3)))
    simulation.run(until: 5_190)
    #expect(simulation.wakeUps == wakeUps + 1)
    guard case .content(let content)? = request.map({ simulation.ask($0) }) else {
      Issue.record("no playlist")
      return
    }
    #expect(String(buffer: content.body).contains("a1b2-5.2.m4s\"\n#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"a1b2-5.3.m4s\""))
    #expect(content.caching == .blocking(.seconds(6)))
    #expect(content.mediaType == "application/vnd.apple.mpegurl")
  }

  @Test func `a playlist waits for a segment`() {
    var simulation = StreamSimulation()
    simulation.run(until: 5_000)
    for file in ["live.m3u8", "playlist.m3u8"] {
      #expect(simulation.ask(file, "_HLS_msn=5") == .wait(until: simulation.now + .seconds(3)))
      #expect(simulation.ask(file, "_HLS_msn=6") == .wait(until: simulation.now + .seconds(3)))
    }
    simulation.run(until: 5_600)
    for file in ["live.m3u8", "playlist.m3u8"] {
      #expect(simulation.text(file, "_HLS_msn=5")?.contains("a1b2-5.") == true)
    }
  }

  @Test func `a file that does not exist after three target durations is unavailable`() {
    var simulation = StreamSimulation()
    simulation.run(until: 5_000)
    let request = HLSRequest(file: "live.m3u8", query: "_HLS_msn=6", arrival: simulation.now)
    let deadline = simulation.now + .seconds(3)
    simulation.now = deadline - .milliseconds(1)
    #expect(request.map { simulation.ask($0) } == .wait(until: deadline))
    simulation.now = deadline
    #expect(request.map { simulation.ask($0) } == .unavailable)
  }

  @Test func `a request for the hinted part waits, others do not`() {
    var simulation = StreamSimulation()
    simulation.run(until: 5_000)
    let text = simulation.text("live.m3u8") ?? ""
    let hint = MediaPlaylistText(text).hints.first ?? ""
    #expect(hint == "a1b2-5.2.m4s")
    let request = HLSRequest(file: hint, arrival: simulation.now)
    #expect(request.map { simulation.ask($0) } == .wait(until: simulation.now + .seconds(3)))
    for file in [
      "a1b2-5.3.m4s", "a1b2-6.0.m4s", "a1b2-5.m4s", "a1b2-5.ts", "a1b2-init2.mp4", "other-4.ts", "b-5.2.m4s",
    ] {
      #expect(simulation.ask(file) == .notFound)
    }
    simulation.run(until: 5_200)
    guard case .content(let content)? = request.map({ simulation.ask($0) }) else {
      Issue.record("no part")
      return
    }
    #expect(content.caching == .media(.seconds(6)))
    #expect(content.etag == "\"a1b2-5.2.m4s\"")
  }

  @Test func `every hint is followed by the part, across segments too`() {
    var settings = StreamSimulation.Settings()
    settings.jitter = .milliseconds(12)
    var simulation = StreamSimulation(settings)
    simulation.run(until: 2_000)
    for step in 0..<200 {
      guard let hint = MediaPlaylistText(simulation.text("live.m3u8") ?? "").hints.first,
        let request = HLSRequest(file: hint, arrival: simulation.now)
      else {
        Issue.record("no hint")
        return
      }
      simulation.run(until: 2_000 + Int64(step + 1) * 300)
      guard case .content = simulation.ask(request) else {
        Issue.record("\(hint) has not come")
        return
      }
    }
  }

  @Test func `a segment is the concatenation of its parts, and identical for all requests`() {
    var simulation = StreamSimulation()
    simulation.fetchesFiles = true
    simulation.run(until: 10_000)
    #expect(simulation.violations == [])
    guard case .content(let first)? = simulation.ask("a1b2-6.m4s"),
      case .content(let second)? = simulation.ask("a1b2-6.m4s")
    else {
      Issue.record("no segment")
      return
    }
    let addresses = [first, second].map { $0.body.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) } }
    #expect(addresses[0] == addresses[1])
    #expect(first.mediaType == "video/mp4")
  }

  @Test func `a segment is kept as long as a player may request it`() {
    var simulation = StreamSimulation()
    simulation.run(until: 5_000)
    simulation.run(until: 60_000)
    let oldest = MediaPlaylistText(simulation.text("live.m3u8") ?? "").mediaSequence
    // The playlist lasts 12 s, a segment 1 s.
    for number in oldest - 13..<oldest {
      for file in ["a1b2-\(number).ts", "a1b2-\(number).m4s", "a1b2-\(number).0.m4s"] {
        guard case .content? = simulation.ask(file) else {
          Issue.record("\(file) is gone")
          continue
        }
      }
    }
    #expect(simulation.ask("a1b2-\(oldest - 20).ts") == .notFound)
    #expect(simulation.violations == [])
  }

  @Test func `bytes are bounded, and at least three target durations are kept`() {
    let configuration = HLSConfiguration(
      token: "a", unixTimeAtZero: .zero, bitrate: 1, maximumBytes: 10_000)
    var simulation = StreamSimulation(configuration: configuration)
    simulation.run(until: 30_000)
    #expect(simulation.stream.statistics.windowSegments == 3)
    #expect(simulation.stream.statistics.windowBytes < 150_000)
    #expect(simulation.violations == [])
  }
}
