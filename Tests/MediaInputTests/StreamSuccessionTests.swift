import Testing

@testable import MediaInput

@Suite("Succession of a file's streams")
struct StreamSuccessionTests {
  /// A verdict without program maps, and the number of packets that it needed.
  private struct Judgement: Equatable {
    var verdict: StreamSuccession.Verdict
    var count: Int

    init(_ verdict: StreamSuccession.Verdict, _ count: Int) {
      (self.verdict, self.count) = (verdict, count)
    }
  }

  /// Judges a packet at 0 s, behind which packets follow: of its stream at a time in milliseconds, or nil for one of the stream that is
  /// played.
  private static func judge(_ following: [Int64?]) -> Judgement {
    var succession = StreamSuccession(at: 0)
    var count = 0
    for time in following {
      count += 1
      guard succession.append(isCurrent: time == nil, at: time.map { $0 * 1_000_000 }) else { break }
    }
    return Judgement(succession.verdict, count)
  }

  @Test func `without program maps, a stream replaces one of which nothing comes for three seconds`() {
    let packets: [Int64?] = (Int64(1)...200).map { Optional($0 * 40) }
    #expect(Self.judge(packets) == Judgement(.replaces, 75))
    #expect(Self.judge(Array(packets.prefix(75)) + [nil]) == Judgement(.replaces, 75))
    #expect(Self.judge(Array(packets.prefix(74)) + [nil]) == Judgement(.isBeside, 75))
    // The end of the file, at which demuxers return what they have held back.
    #expect(Self.judge(Array(packets.prefix(74))) == Judgement(.isBeside, 74))
    #expect(Self.judge([]) == Judgement(.isBeside, 0))
  }

  @Test func `jumps of the clock are no time that has passed`() {
    #expect(Self.judge([40, 3_600_000, 3_600_040, nil]) == Judgement(.isBeside, 4))
    #expect(Self.judge([40, -3_600_000, -3_599_960, nil]) == Judgement(.isBeside, 4))
    // Slides.
    #expect(Self.judge([10_000, 20_000, 30_000, nil]) == Judgement(.replaces, 3))
  }

  @Test func `packets without a time are no time that has passed, and the extremes of times do not trap`() {
    var succession = StreamSuccession(at: nil)
    for _ in 0..<1_000 {
      let needsMore = succession.append(isCurrent: false, at: nil)
      #expect(needsMore)
    }
    for time: Int64 in [.min, .max, .min, .max, 0] { _ = succession.append(isCurrent: false, at: time) }
    #expect(succession.verdict == .isBeside)
  }
}
