import Media
import Testing
import Threading

@Suite("Retry back-off")
struct RetryBackoffTests {
  @Test func `each delay is twice the one before, up to the maximum`() {
    var backoff = RetryBackoff(first: .seconds(1), maximum: .seconds(30))
    let delays = (0..<8).map { _ in backoff.next() }
    #expect(delays == [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
  }

  @Test func `jitter changes a delay by at most a fifth`() {
    var backoff = RetryBackoff(first: .milliseconds(500), maximum: .seconds(10))
    let delays = (0..<7).map { _ in backoff.next(jitter: 0).nanoseconds / 1_000_000 }
    #expect(delays == [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000])
    #expect(backoff.next(jitter: 1) == .seconds(12))
    #expect(backoff.next(jitter: -1) == .seconds(8))
    #expect(backoff.next(jitter: -9) == .seconds(8))
  }
}
