import Media
import Testing

@Suite("Bound of events in time")
struct TokenBucketTests {
  @Test func `a second's events at once, then as many in each second`() {
    var bucket = TokenBucket(rate: 200)
    var now = MediaTime.zero + .seconds(5)
    #expect((0..<300).count { _ in bucket.take(at: now) } == 200)
    now = now + .milliseconds(100)
    #expect((0..<300).count { _ in bucket.take(at: now) } == 20)
    now = now + .seconds(3600)
    #expect((0..<300).count { _ in bucket.take(at: now) } == 200)
  }

  @Test func `several are taken together or not at all, and a clock that steps back gives nothing`() {
    var bucket = TokenBucket(rate: 1000)
    #expect(bucket.take(600, at: .zero + .seconds(1)) && !bucket.take(600, at: .zero + .seconds(1)))
    #expect(bucket.take(400, at: .zero) && !bucket.take(at: .zero))
    #expect(!bucket.take(at: .zero + .seconds(1)) && bucket.take(100, at: .zero + .milliseconds(1100)))
    let isTaken = bucket.take(2000, at: .zero + .seconds(100))
    #expect(!isTaken)
  }

  @Test func `an interval may be longer than a second`() {
    var bucket = TokenBucket(rate: 60, per: .seconds(60))
    #expect((0..<100).count { _ in bucket.take(at: .zero) } == 60)
    #expect((0..<100).count { _ in bucket.take(at: .zero + .milliseconds(2500)) } == 2)
    #expect((0..<100).count { _ in bucket.take(at: .zero + .seconds(3600)) } == 60)
  }

  @Test func `as many as there are room for are taken`() {
    var bucket = TokenBucket(rate: 1000)
    let counts = [600, 600, 600].map { bucket.takeAvailable(upTo: $0, at: .zero) }
    #expect(counts == [600, 400, 0])
    let later = bucket.takeAvailable(upTo: 600, at: .zero + .milliseconds(250))
    #expect(later == 250)
  }
}
