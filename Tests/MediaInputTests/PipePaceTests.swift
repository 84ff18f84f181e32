import Media
import Testing

@testable import MediaInput

@Suite("Pacing of pipe input")
struct PipePaceTests {
  private static func milliseconds(_ count: Int64) -> MediaTime {
    .zero + .milliseconds(count)
  }

  @Test func `frames that arrive at once are spread over the frame rate`() {
    var pace = PipePace(rate: 25)
    #expect((0..<5).map { _ in pace.time(ofFrameArriving: .zero) } == [0, 40, 80, 120, 160].map(Self.milliseconds))
  }

  @Test func `a jitter of ten milliseconds is reduced to about one`() {
    var pace = PipePace(rate: 25)
    let times = (0..<500).map { index in
      pace.time(ofFrameArriving: Self.milliseconds(index * 40 + [0, 10, 3, 7][Int(index) % 4]))
    }
    let steps = zip(times.dropFirst(), times).map { ($0 - $1).seconds }
    #expect(steps.allSatisfy { abs($0 - 0.040) < 0.0011 })
  }

  @Test func `a writer slower than its declared rate is followed without a jump`() {
    var pace = PipePace(rate: 30)
    let times = (0..<500).map { pace.time(ofFrameArriving: Self.milliseconds($0 * 40)) }
    let steps = zip(times.dropFirst(), times).map { ($0 - $1).seconds }
    #expect(steps.suffix(100).allSatisfy { abs($0 - 0.040) < 0.001 })
    #expect(Self.milliseconds(499 * 40) - times[499] < .milliseconds(100))
  }

  @Test func `after a pause frames are delivered as they arrive`() {
    var pace = PipePace(rate: 25)
    _ = pace.time(ofFrameArriving: .zero)
    #expect(pace.time(ofFrameArriving: Self.milliseconds(5000)) == Self.milliseconds(5000))
  }
}
