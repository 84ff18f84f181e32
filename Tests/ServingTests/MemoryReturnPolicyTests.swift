import Media
import Testing

@testable import Serving

@Suite("Return of free memory")
struct MemoryReturnPolicyTests {
  /// Whether memory is returned at each time, in milliseconds, with the number of connections and its maximum since the
  /// time before.
  private static func returns(_ steps: [(time: Int64, count: Int, peak: Int)]) -> [Bool] {
    var policy = MemoryReturnPolicy()
    return steps.map { policy.shouldReturn(count: $0.count, peak: $0.peak, at: .zero + .milliseconds($0.time)) }
  }

  @Test func `memory is returned when half of a crowd has gone, once more ten seconds later, and then no more`() {
    let returns = Self.returns([
      (0, 10_000, 10_000), (1, 5_001, 10_000), (2, 5_000, 5_001), (10_001, 5_000, 5_000),
      (10_002, 5_000, 5_000), (20_002, 5_000, 5_000), (60_000, 5_000, 5_000),
    ])
    #expect(returns == [false, false, true, false, true, false, false])
  }

  @Test func `a crowd that came and went between two looks counts`() {
    #expect(Self.returns([(0, 20, 3_000)]) == [true])
  }

  @Test func `few connections are no crowd`() {
    let minimum = MemoryReturnPolicy.minimumPeak
    #expect(Self.returns([(0, 0, minimum - 1), (1, 0, minimum)]) == [false, true])
  }

  @Test func `memory is returned at most every ten seconds, and not forgotten`() {
    let returns = Self.returns([
      (0, 1_000, 4_000), (1_000, 16, 1_000), (9_999, 16, 16), (10_000, 16, 16), (30_000, 16, 16),
      (60_000, 16, 16),
    ])
    #expect(returns == [true, false, false, true, true, false])
  }
}
