import HLS
import HLSRules
import Media
import NIOCore
import Testing

@Suite("HLS playlists, RFC 8216 §4 and draft-pantos-hls-rfc8216bis §4")
struct HLSPlaylistTests {
  @Test func `the low-latency playlist after 1.8 seconds`() {
    var simulation = StreamSimulation()
    simulation.run(until: 1_800)
    // The first segment is half as long as the others. Six frames of 1/30 s make a part of 0.2 s; a part target of
    // 0.22 s leaves room for jitter: 0.2 / 0.22 is 91%.
    #expect(
      simulation.text("live.m3u8") == """
        #EXTM3U
        #EXT-X-VERSION:9
        #EXT-X-TARGETDURATION:1
        #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=6.0,HOLD-BACK=3.0,PART-HOLD-BACK=0.66
        #EXT-X-PART-INF:PART-TARGET=0.22
        #EXT-X-MEDIA-SEQUENCE:0
        #EXT-X-DISCONTINUITY-SEQUENCE:0
        #EXT-X-INDEPENDENT-SEGMENTS
        #EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:03.123Z
        #EXT-X-MAP:URI="a1b2-init1.mp4"
        #EXT-X-PART:DURATION=0.2,URI="a1b2-0.0.m4s",INDEPENDENT=YES
        #EXT-X-PART:DURATION=0.2,URI="a1b2-0.1.m4s"
        #EXT-X-PART:DURATION=0.1,URI="a1b2-0.2.m4s"
        #EXTINF:0.5,
        a1b2-0.m4s
        #EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:03.623Z
        #EXT-X-PART:DURATION=0.2,URI="a1b2-1.0.m4s",INDEPENDENT=YES
        #EXT-X-PART:DURATION=0.2,URI="a1b2-1.1.m4s"
        #EXT-X-PART:DURATION=0.2,URI="a1b2-1.2.m4s"
        #EXT-X-PART:DURATION=0.2,URI="a1b2-1.3.m4s"
        #EXT-X-PART:DURATION=0.2,URI="a1b2-1.4.m4s"
        #EXTINF:1.0,
        a1b2-1.m4s
        #EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:04.623Z
        #EXT-X-PART:DURATION=0.2,URI="a1b2-2.0.m4s",INDEPENDENT=YES
        #EXT-X-PRELOAD-HINT:TYPE=PART,URI="a1b2-2.1.m4s"

        """)
  }

  @Test func `the TS playlist holds the last six segments`() {
    var simulation = StreamSimulation()
    simulation.run(until: 8_000)
    #expect(
      simulation.text("playlist.m3u8") == """
        #EXTM3U
        #EXT-X-VERSION:3
        #EXT-X-TARGETDURATION:1
        #EXT-X-MEDIA-SEQUENCE:2
        #EXT-X-DISCONTINUITY-SEQUENCE:0
        #EXT-X-INDEPENDENT-SEGMENTS
        #EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:04.623Z
        #EXTINF:1.0,
        a1b2-2.ts
        #EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:05.623Z
        #EXTINF:1.0,
        a1b2-3.ts
        #EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:06.623Z
        #EXTINF:1.0,
        a1b2-4.ts
        #EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:07.623Z
        #EXTINF:1.0,
        a1b2-5.ts
        #EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:08.623Z
        #EXTINF:1.0,
        a1b2-6.ts
        #EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:09.623Z
        #EXTINF:1.0,
        a1b2-7.ts

        """)
  }

  @Test func `a delta update skips segments more than six target durations from the end`() {
    var simulation = StreamSimulation()
    // The last part ends at 8.7 s; segment 2 ends at 2.5 s, segment 3 less than 6 s before the end.
    simulation.run(until: 8_800)
    let delta = simulation.text("live.m3u8", "_HLS_skip=YES") ?? ""
    #expect(
      delta.hasPrefix(
        """
        #EXTM3U
        #EXT-X-VERSION:9
        #EXT-X-TARGETDURATION:1
        #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=6.0,HOLD-BACK=3.0,PART-HOLD-BACK=0.66
        #EXT-X-PART-INF:PART-TARGET=0.22
        #EXT-X-MEDIA-SEQUENCE:0
        #EXT-X-DISCONTINUITY-SEQUENCE:0
        #EXT-X-INDEPENDENT-SEGMENTS
        #EXT-X-SKIP:SKIPPED-SEGMENTS=3
        #EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:05.623Z
        #EXTINF:1.0,
        a1b2-3.m4s

        """))
    #expect(simulation.text("live.m3u8", "_HLS_skip=v2") == delta)
    #expect(simulation.text("live.m3u8", "_HLS_skip=no") == simulation.text("live.m3u8"))
  }

  @Test func `the multivariant playlist is available at once`() {
    var simulation = StreamSimulation()
    // 3/2 of the configured bitrate until a bitrate is measured.
    #expect(
      simulation.text("index.m3u8") == """
        #EXTM3U
        #EXT-X-VERSION:6
        #EXT-X-INDEPENDENT-SEGMENTS
        #EXT-X-STREAM-INF:BANDWIDTH=3546000,AVERAGE-BANDWIDTH=2364000,CODECS="avc1.64001f,mp4a.40.2",\
        RESOLUTION=1280x720,FRAME-RATE=30.000
        live.m3u8

        """)
    #expect(simulation.stream.isActive)
    #expect(simulation.keyframeRequests == 1)
  }

  @Test func `audio-only playlists have no resolution and no frame rate`() {
    var settings = StreamSimulation.Settings()
    settings.frameRate = nil
    var simulation = StreamSimulation(settings)
    let text = simulation.text("index.m3u8") ?? ""
    #expect(text.contains("CODECS=\"mp4a.40.2\"\nlive.m3u8\n"))
  }

  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    (1_709_251_199_999, "2024-02-29T23:59:59.999Z"), (4_107_542_400_001, "2100-03-01T00:00:00.001Z"),
    (-1, "1969-12-31T23:59:59.999Z"),
  ]) func `dates are formatted with milliseconds`(milliseconds: Int64, text: String) {
    let start = MediaDuration.milliseconds(milliseconds) - (StreamSimulation.start - .zero)
    var simulation = StreamSimulation(
      configuration: HLSConfiguration(token: "a", unixTimeAtZero: start, bitrate: 1, startSegments: 1))
    simulation.run(until: 700)
    #expect(simulation.text("playlist.m3u8")?.contains("#EXT-X-PROGRAM-DATE-TIME:\(text)\n") == true)
  }

  @Test func `a step of the wall clock is a discontinuity of dates, and of nothing else`() {
    var simulation = StreamSimulation()
    simulation.run(until: 10_000)
    simulation.stream.unixTimeAtZero = simulation.stream.unixTimeAtZero + .seconds(3600)
    simulation.run(until: 15_000)
    for file in simulation.watched {
      let text = simulation.text(file) ?? ""
      let segments = MediaPlaylistText(text).segments
      let steps = zip(segments, segments.dropFirst()).map { first, next in
        (next.dateTime ?? 0) - (first.dateTime ?? 0) - first.duration
      }
      #expect(steps.count { abs($0 - 3600) < 0.01 } == 1, "\(steps)")
      #expect(steps.count { abs($0) < 0.01 } == steps.count - 1, "\(steps)")
      #expect(!text.contains("#EXT-X-DISCONTINUITY\n"))
    }
    #expect(simulation.violations.allSatisfy { $0.rule == .dateTime })
  }

  @Test func `the end of the stream ends the playlists`() {
    var simulation = StreamSimulation()
    simulation.run(until: 3_850)
    let hinted = HLSRequest(file: "a1b2-4.1.m4s", arrival: simulation.now)
    #expect(hinted.map { simulation.ask($0) } == .wait(until: simulation.now + .seconds(3)))
    simulation.perform(simulation.stream.end())
    #expect(hinted.map { simulation.ask($0) } != .notFound)
    let text = simulation.text("live.m3u8") ?? ""
    #expect(text.hasSuffix("a1b2-4.m4s\n#EXT-X-ENDLIST\n"))
    #expect(simulation.text("playlist.m3u8")?.hasSuffix("a1b2-4.ts\n#EXT-X-ENDLIST\n") == true)
    #expect(simulation.text("live.m3u8", "_HLS_msn=9") == text)
    #expect(simulation.ask("a1b2-4.9.m4s") == .notFound)
    #expect(!simulation.stream.isActive)
    simulation.run(until: 6_000)
    #expect(simulation.text("live.m3u8") == text)
    #expect(simulation.violations == [])
  }

  @Test func `other codecs start a segment with a discontinuity and another initialization segment`() {
    var simulation = StreamSimulation()
    simulation.run(until: 3_000)
    let other = [StreamSimulation.video(25), StreamSimulation.audio]
    simulation.perform(simulation.stream.change(to: other))
    simulation.run(until: 5_000)
    let playlist = MediaPlaylistText(simulation.text("live.m3u8") ?? "")
    #expect(playlist.segments.map(\.hasDiscontinuity) == [false, false, false, false, true, false, false])
    #expect(playlist.segments.map { $0.map?.dropFirst(9).prefix(1) ?? "" } == ["1", "1", "1", "1", "2", "2", "2"])
    #expect(playlist.targetDuration == 1)
    let again = simulation.stream.change(to: other)
    #expect(again == .none)
    simulation.run(until: 25_000)
    #expect(MediaPlaylistText(simulation.text("live.m3u8") ?? "").discontinuitySequence == 1)
    #expect(MediaPlaylistText(simulation.text("playlist.m3u8") ?? "").discontinuitySequence == 1)
    #expect(simulation.violations == [])
  }
}
