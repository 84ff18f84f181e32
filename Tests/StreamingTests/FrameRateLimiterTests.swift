import Media
import Testing

@testable import Streaming

@Suite("Frame rate limiter")
struct FrameRateLimiterTests {
  /// Number of frames of a source at `rate` that pass a limiter at `limit`, in ten seconds.
  private func accepted(_ rate: FrameRate, limit: FrameRate, jitter: MediaDuration = .zero) -> Int {
    var limiter = FrameRateLimiter(limit)
    return (0..<Int64(rate.framesPerSecond * 10)).count { index in
      let time = rate.time(ofFrame: index, from: .zero)
      return limiter.accepts(index.isMultiple(of: 2) ? time : time + jitter)
    }
  }

  @Test(
    arguments: [(60, 30, 300), (50, 25, 250), (120, 30, 300), (30, 10, 100), (30, 15, 150)] as [(Int32, Int32, Int)])
  func `a multiple of the limit is decimated evenly`(rate: Int32, limit: Int32, expected: Int) {

    #expect(abs(self.accepted(FrameRate(rate), limit: FrameRate(limit)) - expected) <= 1)
  }

  @Test(arguments: [(50, 30), (25, 24), (30, 29), (60, 50)] as [(Int32, Int32)])
  func `a rate that is not a multiple comes within 5% of the limit`(rate: Int32, limit: Int32) {

    let count = self.accepted(FrameRate(rate), limit: FrameRate(limit))
    #expect(abs(Double(count) / Double(limit * 10) - 1) < 0.05)
  }

  @Test func `jitter of a few milliseconds drops no frame`() {
    #expect(self.accepted(FrameRate(60), limit: FrameRate(30), jitter: .milliseconds(4)) == 300)
  }
}
