import HLSRules
import Testing

/// Two valid playlists, and a violation of each rule by a text replacement in the second, or in both.
@Suite("HLS rule checker")
struct HLSRuleCheckerTests {
  private static func segment(_ number: Int, parts: Bool, tags: String = "") -> String {
    var text = tags + "#EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:0\(number).000Z\n"
    if number == 1 { text += "#EXT-X-MAP:URI=\"a-init1.mp4\"\n" }
    if parts {
      for part in 0..<5 {
        text += "#EXT-X-PART:DURATION=0.2,URI=\"a-\(number).\(part).m4s\"\(part == 0 ? ",INDEPENDENT=YES" : "")\n"
      }
    }
    return text + "#EXTINF:1.0,\na-\(number).m4s\n"
  }

  private static let head = """
    #EXTM3U
    #EXT-X-VERSION:9
    #EXT-X-TARGETDURATION:1
    #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=6.0,HOLD-BACK=3.0,PART-HOLD-BACK=0.66
    #EXT-X-PART-INF:PART-TARGET=0.22
    #EXT-X-MEDIA-SEQUENCE:1
    #EXT-X-DISCONTINUITY-SEQUENCE:4
    #EXT-X-INDEPENDENT-SEGMENTS

    """

  private static let first =
    head + segment(1, parts: false) + segment(2, parts: false, tags: "#EXT-X-DISCONTINUITY\n")
    + segment(3, parts: true) + segment(4, parts: true) + "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"a-5.0.m4s\"\n"

  private static let second =
    head + segment(1, parts: false) + segment(2, parts: false, tags: "#EXT-X-DISCONTINUITY\n")
    + segment(3, parts: false) + segment(4, parts: true) + segment(5, parts: true)
    + "#EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:06.000Z\n"
    + "#EXT-X-PART:DURATION=0.2,URI=\"a-6.0.m4s\",INDEPENDENT=YES\n"
    + "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"a-6.1.m4s\"\n"

  private static func rules(_ texts: [String], tolerance: Double? = nil, interval: Double = 1) -> Set<HLSRule> {
    var checker = HLSRuleChecker(tolerance: tolerance)
    for (index, text) in texts.enumerated() { checker.check(text, at: Double(index) * interval) }
    return Set(checker.violations.map(\.rule))
  }

  @Test func `valid playlists have no violation`() {
    #expect(Self.rules([Self.first, Self.first, Self.second, Self.second], tolerance: 0, interval: 0.7) == [])
  }

  struct Fault: Sendable, CustomTestStringConvertible {
    var rule: HLSRule
    var old: String
    var new: String
    var isInBoth = false

    var testDescription: String { "\(self.rule): \(self.new)" }
  }

  private static let faults = [
    Fault(rule: .syntax, old: "#EXTM3U", new: "#EXTM4U"),
    Fault(rule: .syntax, old: "#EXT-X-INDEPENDENT-SEGMENTS", new: "#EXT-X-INDEPENDENT"),
    Fault(rule: .syntax, old: "#EXT-X-INDEPENDENT-SEGMENTS", new: "#EXT-X-TARGETDURATION:1"),
    Fault(rule: .syntax, old: "#EXTINF:1.0,\na-4", new: "#EXTINF:one,\na-4"),
    Fault(rule: .syntax, old: "#EXTINF:1.0,\na-4", new: "a-4"),
    Fault(rule: .version, old: "VERSION:9", new: "VERSION:5"),
    Fault(rule: .targetDuration, old: "#EXTINF:1.0,\na-5", new: "#EXTINF:1.5,\na-5"),
    Fault(rule: .constantTargets, old: "PART-TARGET=0.22", new: "PART-TARGET=0.21"),
    Fault(rule: .constantTargets, old: "TARGETDURATION:1", new: "TARGETDURATION:2"),
    Fault(rule: .mediaSequence, old: "MEDIA-SEQUENCE:1", new: "MEDIA-SEQUENCE:0"),
    Fault(rule: .constantSegments, old: "a-3.m4s", new: "b-3.m4s"),
    Fault(rule: .constantSegments, old: "URI=\"a-4.2.m4s", new: "URI=\"a-4.9.m4s"),
    Fault(rule: .constantSegments, old: "07:41:03.000Z", new: "07:41:03.001Z"),
    Fault(rule: .discontinuitySequence, old: "SEQUENCE:4", new: "SEQUENCE:5"),
    Fault(rule: .discontinuitySequence, old: "DISCONTINUITY-SEQUENCE:4", new: "DISCONTINUITY-SEQUENCE:3"),
    Fault(rule: .partTarget, old: "DURATION=0.2,URI=\"a-5.1", new: "DURATION=0.221,URI=\"a-5.1"),
    Fault(rule: .shortPart, old: "DURATION=0.2,URI=\"a-5.1", new: "DURATION=0.186,URI=\"a-5.1"),
    Fault(rule: .partSum, old: "DURATION=0.2,URI=\"a-5.4", new: "DURATION=0.19,URI=\"a-5.4"),
    Fault(
      rule: .partsAtEnd, old: "#EXTINF:1.0,\na-2",
      new: "#EXT-X-PART:DURATION=0.2,URI=\"a-2.0.m4s\",INDEPENDENT=YES\n#EXTINF:1.0,\na-2"),
    Fault(rule: .partsAtEnd, old: "#EXT-X-PART-INF:PART-TARGET=0.22\n", new: ""),
    Fault(rule: .serverControl, old: "HOLD-BACK=3.0", new: "HOLD-BACK=2.9"),
    Fault(rule: .serverControl, old: "PART-HOLD-BACK=0.66", new: "PART-HOLD-BACK=0.65"),
    Fault(rule: .serverControl, old: "CAN-SKIP-UNTIL=6.0", new: "CAN-SKIP-UNTIL=5.9"),
    Fault(rule: .serverControl, old: "CAN-BLOCK-RELOAD=YES", new: "CAN-BLOCK-RELOAD=NO"),
    Fault(rule: .preloadHint, old: "URI=\"a-5.0.m4s", new: "URI=\"a-5.00.m4s"),
    Fault(rule: .preloadHint, old: "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"a-6.1.m4s\"\n", new: ""),
    Fault(rule: .delta, old: "#EXT-X-INDEPENDENT-SEGMENTS", new: "#EXT-X-SKIP:SKIPPED-SEGMENTS=1"),
    Fault(rule: .endList, old: "#EXT-X-INDEPENDENT-SEGMENTS", new: "#EXT-X-ENDLIST"),
    Fault(rule: .dateTime, old: "#EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:02.000Z\n", new: "", isInBoth: true),
    Fault(rule: .dateTime, old: "07:41:05.000Z", new: "07:41:05.020Z"),
    Fault(rule: .map, old: "#EXT-X-MAP:URI=\"a-init1.mp4\"\n", new: "", isInBoth: true),
    Fault(
      rule: .map, old: "#EXTINF:1.0,\na-5", new: "#EXT-X-MAP:URI=\"a-init2.mp4\"\n#EXTINF:1.0,\na-5"),
  ]

  @Test(arguments: Self.faults) func `a violation is found`(fault: Fault) {
    #expect(Self.second.contains(fault.old))
    let second = Self.second.replacing(fault.old, with: fault.new)
    let first = fault.isInBoth ? Self.first.replacing(fault.old, with: fault.new) : Self.first
    #expect(Self.rules([first, second]).contains(fault.rule))
  }

  @Test func `a window that becomes too short is found`() {
    let short =
      Self.head.replacing("SEQUENCE:1", with: "SEQUENCE:3").replacing("SEQUENCE:4", with: "SEQUENCE:5")
      + "#EXT-X-MAP:URI=\"a-init1.mp4\"\n" + Self.segment(3, parts: false) + Self.segment(4, parts: true)
      + "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"a-5.0.m4s\"\n"
    #expect(Self.rules([Self.first, short]) == [.windowLength])
  }

  @Test func `changes after the end are found`() {
    let end = Self.first.replacing("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"a-5.0.m4s\"", with: "#EXT-X-ENDLIST")
    #expect(Self.rules([end, end]) == [])
    #expect(Self.rules([end, Self.second]) == [.endList])
  }

  @Test func `a playlist that does not advance is found`() {
    #expect(Self.rules([Self.first, Self.first, Self.first], tolerance: 0.1) == [.freshness])
    #expect(Self.rules([Self.first, Self.first, Self.first], tolerance: 0.6) == [])
  }

  @Test func `files that contradict the playlist are found`() {
    var checker = HLSRuleChecker()
    checker.check(Self.first, at: 0)
    for part in 0..<5 { checker.checkFile("a-4.\(part).m4s", [UInt8(part)]) }
    checker.checkFile("a-4.m4s", [0, 1, 2, 3, 4])
    #expect(checker.violations == [])
    checker.checkFile("a-4.m4s", [0, 1, 2, 3, 5])
    #expect(checker.violations.map(\.detail) == ["a-4.m4s has changed", "segment 4 is not its parts"])
    checker.checkFile("a-3.m4s", [])
    #expect(checker.violations.count == 3)
  }

  @Test func `a delta update is compared with the full playlist`() {
    func violations(_ delta: String) -> [HLSRule] {
      var checker = HLSRuleChecker()
      checker.check(delta: delta, equals: Self.second)
      return checker.violations.map(\.rule)
    }
    let skip = "#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-SKIP:SKIPPED-SEGMENTS=1\n"
    let delta = Self.second.replacing(Self.segment(1, parts: false), with: "")
      .replacing("#EXT-X-INDEPENDENT-SEGMENTS\n", with: skip)
    #expect(violations(delta) == [])
    #expect(violations(delta.replacing("SKIPPED-SEGMENTS=1", with: "SKIPPED-SEGMENTS=2")) == [.delta])
    #expect(violations(delta.replacing("SKIPPED-SEGMENTS=1", with: "SKIPPED-SEGMENTS=9")) == [.delta])
    #expect(violations(delta.replacing("a-5.4.m4s", with: "a-5.5.m4s")) == [.delta])
    #expect(violations(Self.second) == [.delta])
  }

  @Test func `each rule has a violation that breaks it`() {
    // The last five are broken in HLSVariantCheckerTests.
    let elsewhere: Set<HLSRule> = [
      .windowLength, .freshness, .bytes, .bandwidth, .codecs, .resolution, .frameRate, .renditionReport,
    ]
    #expect(Set(Self.faults.map(\.rule)).union(elsewhere) == Set(HLSRule.allCases))
  }
}
