import Media
import Testing

@testable import WebRTC

@Suite("Budget of requested keyframes")
final class KeyframeBudgetTests {
  /// At 2.4 Mb/s: a fifth of that is 60,000 bytes a second.
  private var budget = KeyframeBudget(bitrate: 2_400_000)
  private var now = MediaTime.zero

  private func request(after delay: MediaDuration = .zero) -> Bool {
    self.budget.request(at: self.now + delay)
  }

  private func keyframe(_ byteCount: Int = 30_000) { self.budget.handleKeyframe(byteCount: byteCount, at: self.now) }

  private func wait(_ milliseconds: Int64) -> Bool {
    self.now += .milliseconds(milliseconds)
    return self.budget.handleTimeout(at: self.now)
  }

  @Test func `requests before a keyframe are one; a hundred joins cost one keyframe`() {
    #expect((0..<100).map { _ in self.request() }.count { $0 } == 1)
    self.keyframe()
    #expect(!self.wait(100) && self.request())
  }

  @Test func `an encoder that does not answer is asked again after a second`() {
    #expect(self.request() && !self.request(after: .milliseconds(999)))
    #expect(self.request(after: .seconds(1)))
    #expect(!self.wait(1_999) && self.wait(1))
  }

  @Test(arguments: [33, 100, 2_000] as [Int64])
  func `a viewer that always asks gets a fifth of the bits in keyframes, however seldom frames come`(interval: Int64) {
    var bytes = 0
    var isAsked = false
    let count = 100_000 / interval
    for _ in 0..<count {
      if isAsked {
        bytes += 40_000
        self.keyframe(40_000)
      }
      let wasAsked = self.wait(interval)
      let isNew = self.request()
      isAsked = wasAsked || isNew
    }
    // A frame in two seconds cannot use it up.
    let share = Double(bytes) / Double(count * interval) * 1000 / 300_000
    #expect(interval < 2_000 ? share > 0.18 && share < 0.22 : bytes == Int(count - 1) * 40_000, "\(share)")
  }

  @Test func `a request without credit is met when there is some, or by a keyframe that comes anyway`() {
    for _ in 0..<3 {
      #expect(self.request())
      self.keyframe()
    }
    #expect(!self.request())
    // Without any frame, as while the stream is paused.
    #expect(!self.wait(499) && self.wait(1))
    self.keyframe()
    #expect(!self.request())
    self.keyframe()
    // No request waits any more.
    #expect(!self.wait(5_000))
  }

  @Test func `a keyframe that is longer than was presumed makes no debts`() {
    #expect(self.request())
    self.keyframe(500_000)
    // 60,000 bytes a second.
    #expect(!self.request() && !self.wait(8_333) && self.wait(1))
  }

  @Test(arguments: [240_000, 24_000_000])
  func `keyframes of another bitrate are presumed to be as much shorter or longer`(bitrate: Int) {
    for _ in 0..<3 {
      #expect(self.request())
      self.keyframe()
    }
    self.budget.bitrate = bitrate
    #expect(!self.request() && !self.wait(499) && self.wait(1))
  }
}

@Suite("Keyframes that one viewer may request")
struct KeyframeRequestLimiterTests {
  @Test(arguments: zip([KeyframeRequestLimiter.interval, KeyframeRequestLimiter.soleInterval], [5, 2] as [Int64]))
  func `some at once, then one in an interval, which is short where there are no others`(
    interval: MediaDuration, seconds: Int64
  ) {
    #expect(interval == .seconds(seconds))
    var limiter = KeyframeRequestLimiter()
    limiter.interval = interval
    func count(_ range: Range<Int64>) -> Int {
      range.count { milliseconds in
        let isAllowed = limiter.request(at: .zero + .milliseconds(milliseconds))
        if isAllowed { limiter.handleKeyframe() }
        return isAllowed
      }
    }
    let (first, later) = (count(0..<10), count(10..<100_000))
    // The fifth as soon as the first one's interval has begun.
    #expect(first == 5 && first + later == 4 + Int(100 / seconds))
  }

  @Test func `requests within a second are one, until a keyframe comes`() {
    var limiter = KeyframeRequestLimiter()
    var allowed = ([0, 999, 1000] as [Int64]).filter { limiter.request(at: .zero + .milliseconds($0)) }
    #expect(allowed == [0, 1000])
    limiter.handleKeyframe()
    allowed = ([1000, 1001] as [Int64]).filter { limiter.request(at: .zero + .milliseconds($0)) }
    #expect(allowed == [1000])
  }
}
