import CLibav
import Testing

@testable import Codecs

@Suite("Start of decoding of HEVC and MPEG")
struct DecodingStartTests {
  /// Packets 40 ms apart, `k` for keyframes: `.` for those that are skipped, `w` where their number is reported, `d` for decoded ones.
  private static func decisions(_ start: inout DecodingStart, _ packets: String, from first: Int64 = 0) -> String {
    var result = ""
    for (index, name) in packets.enumerated() {
      let isSkipped = start.skips(isKeyframe: name == "k", at: (first + Int64(index)) * 40_000_000)
      result += start.takeMissing() != nil ? "w" : isSkipped ? "." : "d"
    }
    return result
  }

  @Test func `packets before the first keyframe are skipped, again after a reset`() {
    var start = DecodingStart(AV_CODEC_ID_HEVC)
    #expect(Self.decisions(&start, "ppkppkp") == "..ddddd" && start.hasSkipped)
    start.reset()
    #expect(Self.decisions(&start, "pkp", from: 100) == ".dd")
  }

  @Test func `other codecs are decoded from the first packet on, and so is a film after its last hope`() {
    var start = DecodingStart(AV_CODEC_ID_H264)
    #expect(Self.decisions(&start, "pp") == "dd" && !start.hasSkipped)
    var film = DecodingStart(AV_CODEC_ID_MPEG2VIDEO)
    #expect(Self.decisions(&film, "pp") == "..")
    film.startAnywhere()
    #expect(Self.decisions(&film, "pp") == "dd" && !film.hasSkipped)
    film.reset()
    #expect(Self.decisions(&film, "pp") == "dd")
  }

  @Test func `a keyframe that does not come is reported once after 3 s, and not waited for after 20 s`() {
    var start = DecodingStart(AV_CODEC_ID_MPEG4)
    let decisions = Self.decisions(&start, String(repeating: "p", count: 600))
    let expected = String(repeating: ".", count: 75) + "w" + String(repeating: ".", count: 424)
    #expect(decisions == expected + String(repeating: "d", count: 100))
    start.reset()
    #expect(!Self.decisions(&start, String(repeating: "p", count: 100), from: 10_000).contains("w"))
  }

  @Test func `packets without times are counted`() {
    var start = DecodingStart(AV_CODEC_ID_HEVC)
    let decisions = (0..<1_100).map { _ in start.skips(isKeyframe: false, at: vidicon_av_nopts_value) }
    #expect(decisions == (0..<1_100).map { $0 < 1_000 })
  }
}
