import HLSRules
import Testing

/// A valid multivariant playlist and valid reports, and violations by text replacements.
@Suite("HLS rule checker: variants")
struct HLSVariantCheckerTests {
  private static let index = """
    #EXTM3U
    #EXT-X-VERSION:6
    #EXT-X-STREAM-INF:BANDWIDTH=2000000,AVERAGE-BANDWIDTH=1500000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720,FRAME-RATE=30.000
    main/live.m3u8
    #EXT-X-STREAM-INF:BANDWIDTH=500000,AVERAGE-BANDWIDTH=400000,CODECS="avc1.64001e",RESOLUTION=640x360,FRAME-RATE=14.985
    low/live.m3u8

    """

  private static let media = [
    // Segments of 1 s: 1.6 and 2 Mb/s, and one of 0.3 s with 3 Mb/s, too short to be judged alone.
    "main/live.m3u8": HLSVariantChecker.Media(
      segments: [(200_000, 1), (250_000, 1), (112_500, 0.3), (100_000, 1)].map { .init(bytes: $0.0, seconds: $0.1) },
      targetDuration: 1, codecs: ["avc1.64001f", "mp4a.40.2"], width: 1280, height: 720, frameInterval: 1 / 30.0),
    "low/live.m3u8": HLSVariantChecker.Media(
      segments: [.init(bytes: 62_500, seconds: 1)], targetDuration: 1, codecs: ["avc1.64001e"], width: 640, height: 360,
      frameInterval: 1001 / 15_000.0),
  ]

  private static func rules(_ text: String, _ media: [String: HLSVariantChecker.Media] = Self.media) -> [HLSRule] {
    var checker = HLSVariantChecker()
    checker.check(text, media: media)
    return checker.violations.map(\.rule)
  }

  @Test func `the peak is that of successive segments of half to one and a half target durations`() throws {
    let main = try #require(Self.media["main/live.m3u8"])
    // The second and the third one: 362,500 bytes in 1.3 s.
    #expect(abs(main.peakBitrate - 362_500 * 8 / 1.3) < 1)
    #expect(Self.media["low/live.m3u8"]?.peakBitrate == 500_000)
  }

  @Test func `a valid playlist has no violation`() {
    let valid = Self.index.replacing("BANDWIDTH=2000000", with: "BANDWIDTH=2230770")
    #expect(Self.rules(valid) == [])
    #expect(Self.rules(Self.index) == [.bandwidth])
  }

  @Test(
    arguments: [
      (.bandwidth, "BANDWIDTH=500000", "BANDWIDTH=499000"),
      (.bandwidth, "AVERAGE-BANDWIDTH=400000", "AVERAGE-BANDWIDTH=500001"),
      (.bandwidth, "BANDWIDTH=500000,", ""), (.codecs, "avc1.64001e", "avc1.64001f"), (.codecs, ",mp4a.40.2", ""),
      (.codecs, "avc1.64001e", "avc1.64001e,mp4a.40.2"), (.resolution, "640x360", "640x352"),
      (.resolution, ",RESOLUTION=1280x720", ""), (.frameRate, "14.985", "15.5"), (.frameRate, "14.985", "30.000"),
      (.frameRate, "30.000", "30"), (.frameRate, ",FRAME-RATE=30.000", ""),
      (.syntax, "low/live.m3u8", "high/live.m3u8"),
      (.syntax, "#EXTM3U\n", ""), (.syntax, "low/live.m3u8", "main/live.m3u8"), (.syntax, "low/live.m3u8\n", ""),
    ] as [(HLSRule, String, String)])
  func `a violation is found`(rule: HLSRule, old: String, new: String) {
    let valid = Self.index.replacing("BANDWIDTH=2000000", with: "BANDWIDTH=2230770")
    let wrong = valid.replacing(old, with: new)
    #expect(wrong != valid && Self.rules(wrong).contains(rule), "\(Self.rules(wrong))")
  }

  @Test func `a report lies between the positions before and after it`() {
    typealias Position = HLSVariantChecker.Position
    func rules(_ lines: [String]) -> [HLSRule] {
      var checker = HLSVariantChecker()
      let text = (["#EXTM3U"] + lines).joined(separator: "\n") + "\n"
      checker.check(
        reportsOf: text, on: ["../low/live.m3u8": Position(segment: 7, part: 1)...Position(segment: 8, part: 0)])
      return checker.violations.map(\.rule)
    }
    func line(_ uri: String, _ segment: Int, _ part: Int) -> String {
      "#EXT-X-RENDITION-REPORT:URI=\"\(uri)\",LAST-MSN=\(segment),LAST-PART=\(part)"
    }
    for (segment, part) in [(7, 1), (7, 4), (8, 0)] { #expect(rules([line("../low/live.m3u8", segment, part)]) == []) }
    for (segment, part) in [(7, 0), (6, 9), (8, 1), (9, 0)] {
      #expect(rules([line("../low/live.m3u8", segment, part)]) == [.renditionReport])
    }
    #expect(rules([]) == [.renditionReport])
    let valid = line("../low/live.m3u8", 7, 2)
    #expect(rules([valid, valid]) == [.renditionReport])
    #expect(rules([valid, line("../main/live.m3u8", 7, 2)]) == [.renditionReport])
    #expect(rules([valid.replacing(",LAST-PART=2", with: "")]) == [.renditionReport])
  }
}
