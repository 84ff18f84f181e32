import Media
import Testing

@testable import Streaming

@Suite("Keyframe requests")
struct KeyframeRequestsTests {
  private static func milliseconds(_ count: Int64) -> MediaTime {
    .zero + .milliseconds(count)
  }

  @Test func `the first request is met by the next picture`() {
    var requests = KeyframeRequests(longestInterval: .seconds(10))
    #expect(!requests.forcesKeyframe(at: .zero))
    requests.request()
    #expect(requests.forcesKeyframe(at: .zero))
  }

  @Test func `a request soon after a keyframe waits for half a second, and is not lost`() {
    var requests = KeyframeRequests(longestInterval: .seconds(10))
    requests.keyframeEncoded(at: .zero)
    requests.request()
    #expect(!requests.forcesKeyframe(at: Self.milliseconds(499)))
    #expect(requests.dueTime == Self.milliseconds(500))
    #expect(requests.forcesKeyframe(at: Self.milliseconds(500)))
  }

  @Test func `a hundred requests cost one keyframe`() {
    var requests = KeyframeRequests(longestInterval: .seconds(10))
    for _ in 0..<100 { requests.request() }
    #expect(requests.forcesKeyframe(at: .zero))
    requests.keyframeEncoded(at: .zero)
    #expect(!requests.isPending)
    #expect(!requests.forcesKeyframe(at: Self.milliseconds(5000)))
  }

  @Test func `a keyframe is forced when the last one is too long ago`() {
    var requests = KeyframeRequests(longestInterval: .seconds(2))
    requests.keyframeEncoded(at: .zero)
    #expect(!requests.forcesKeyframe(at: Self.milliseconds(1999)))
    #expect(requests.forcesKeyframe(at: Self.milliseconds(2000)))
  }

  @Test func `a keyframe that comes by itself meets a waiting request`() {
    var requests = KeyframeRequests(longestInterval: .seconds(10))
    requests.keyframeEncoded(at: .zero)
    requests.request()
    requests.keyframeEncoded(at: Self.milliseconds(100))
    #expect(requests.dueTime == nil)
  }
}

@Suite("Frame rate limiter")
struct FrameRateLimiterTests {
  /// The frames of a source at `rate` that pass a limiter at `limit`, in ten seconds.
  private func accepted(_ rate: FrameRate, limit: FrameRate, jitter: MediaDuration = .zero) -> Int {
    var limiter = FrameRateLimiter(limit)
    return (0..<Int64(rate.framesPerSecond * 10)).count { index in
      let time = rate.time(ofFrame: index, from: .zero)
      return limiter.accepts(index.isMultiple(of: 2) ? time : time + jitter)
    }
  }

  @Test(
    arguments: [(60, 30, 300), (50, 25, 250), (120, 30, 300), (30, 10, 100), (30, 15, 150)] as [(Int32, Int32, Int)])
  func `a multiple is thinned out evenly`(rate: Int32, limit: Int32, expected: Int) {
    #expect(abs(self.accepted(FrameRate(rate), limit: FrameRate(limit)) - expected) <= 1)
  }

  @Test(arguments: [(50, 30), (25, 24), (30, 29), (60, 50)] as [(Int32, Int32)])
  func `a rate that is no multiple comes within 5% of the limit`(rate: Int32, limit: Int32) {
    let count = self.accepted(FrameRate(rate), limit: FrameRate(limit))
    #expect(abs(Double(count) / Double(limit * 10) - 1) < 0.05)
  }

  @Test func `jitter of a few milliseconds costs no frame`() {
    #expect(self.accepted(FrameRate(60), limit: FrameRate(30), jitter: .milliseconds(4)) == 300)
  }
}
