import Media
import Testing

@Suite("Frame rates as text")
struct FrameRateTests {
  @Test(
    arguments: [
      ("30", 30), ("1", 1), ("007", 7), ("12.5", FrameRate(25, over: 2)), ("0.5", FrameRate(1, over: 2)),
      ("29.97", FrameRate(30_000, over: 1001)), ("29.970", FrameRate(30_000, over: 1001)),
      ("23.976", FrameRate(24_000, over: 1001)), ("23.98", FrameRate(24_000, over: 1001)),
      ("59.94", FrameRate(60_000, over: 1001)), ("119.88", FrameRate(120_000, over: 1001)),
      ("14.985", FrameRate(15_000, over: 1001)), ("29.9", FrameRate(299, over: 10)), ("30.0", 30),
      ("29.96", FrameRate(2996, over: 100)), ("30000/1001", FrameRate(30_000, over: 1001)), ("60/2", 30),
      ("240", 240), ("239.999", FrameRate(239_999, over: 1000)), ("1/10", FrameRate(1, over: 10)),
      ("9999999/9999999", 1),
    ] as [(String, FrameRate)])
  func `a rate is a number, one with decimals or a fraction`(text: String, rate: FrameRate) {

    #expect(FrameRate(parsing: text, in: 0.1...240) == rate)
    #expect(FrameRate(parsing: text[...], in: 0.1...240) == rate)
  }

  @Test(arguments: [
    "", "0", "0.0", "-1", "+30", " 30", "30 ", "30.", ".5", "1.2345", "1.2.3", "1/2/3", "30/", "/30", "30/0", "0/30",
    "1e2",
    "nan", "inf", "0x1e", "３０", "30000/1001/1", "1.5/2", "240.001", "241", "1/11", "0.09", "10000000",
    "99999999999999999999",
    "9999999.999", "9223372036854775807/1", "1/9223372036854775807", String(repeating: "9", count: 100_000), "30\0",
  ])
  func `other text and rates out of range are refused`(text: String) {

    #expect(FrameRate(parsing: text, in: 0.1...240) == nil)
  }

  @Test func `every thousandth is a rate close to the text`() throws {
    for thousandths in 1...30_000 {
      let digits = String(thousandths % 1000 + 1000).dropFirst()
      let rate = try #require(FrameRate(parsing: "\(thousandths / 1000).\(digits)", in: 0.001...30))
      #expect(abs(rate.framesPerSecond * 1000 - Double(thousandths)) < 5.001, "\(thousandths)")
    }
  }

  @Test func `a device rate of 29.97 is not above a requested 29.97`() throws {
    let wanted = try #require(FrameRate(parsing: "29.97", in: 1...240))
    #expect(FrameRate.best(of: [15, FrameRate(30_000, over: 1001), 30], notAbove: wanted)?.description == "29.97")
  }

  @Test func `half of a rate is exact, where it is a fraction of 32 bits`() {
    #expect(FrameRate(50).halved == 25 && FrameRate(60_000, over: 1001).halved == FrameRate(30_000, over: 1001))
    #expect(FrameRate(25).halved == FrameRate(25, over: 2))
    #expect(FrameRate(1, over: .max).halved == FrameRate(1, over: .max))
  }
}
