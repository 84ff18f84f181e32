import Media
import Testing
import WebRTC

@Suite("WebRTC reception: requests for keyframes")
struct PictureLossRequestsTests {
  private static func time(_ milliseconds: Int64) -> MediaTime { .zero + .milliseconds(milliseconds) }

  /// Times of requests in milliseconds, tried each 10 ms.
  private static func times(
    _ requests: inout PictureLossRequests, roundTrip: Int64 = 50, _ range: Range<Int64>, keyframes: Set<Int64> = []
  ) -> [Int64] {
    stride(from: range.lowerBound, to: range.upperBound, by: 10).filter { now in
      if keyframes.contains(now) {
        requests.handleKeyframe()
        requests.need()
      }
      return requests.request(roundTrip: .milliseconds(roundTrip), at: Self.time(now))
    }
  }

  @Test func `nothing is requested while no keyframe is needed`() {
    var requests = PictureLossRequests()
    #expect(Self.times(&requests, 0..<1000).isEmpty)
    #expect(requests.nextDeadline(roundTrip: .zero) == nil)
  }

  @Test func `the first request is immediate, repetitions come after 0.5 s three times, 1, 2, 4 and 4 s`() {
    var requests = PictureLossRequests()
    requests.need()
    #expect(Self.times(&requests, 1000..<15_000) == [1000, 1500, 2000, 2500, 3500, 5500, 9500, 13_500])
  }

  @Test func `a keyframe ends the repetitions, and the next need has the first interval again`() {
    var requests = PictureLossRequests()
    requests.need()
    #expect(Self.times(&requests, 0..<1000) == [0, 500])
    requests.handleKeyframe()
    #expect(!requests.isNeeded && Self.times(&requests, 1000..<5000).isEmpty)
    requests.need()
    #expect(Self.times(&requests, 5000..<6000) == [5000, 5500])
  }

  @Test func `a need may begin later, and one at once precedes it`() {
    var requests = PictureLossRequests()
    requests.need(from: Self.time(200))
    #expect(requests.nextDeadline(roundTrip: .zero) == Self.time(200))
    #expect(Self.times(&requests, 0..<300) == [200])
    requests.handleKeyframe()
    requests.need(from: Self.time(2000))
    requests.need()
    requests.need(from: Self.time(3000))
    #expect(Self.times(&requests, 1000..<1010) == [1000])
  }

  @Test func `a long round trip lengthens the interval`() {
    var requests = PictureLossRequests()
    requests.need()
    #expect(Self.times(&requests, roundTrip: 400, 0..<1600) == [0, 800])
  }

  @Test func `losses after each keyframe use up the budget: one request per second remains`() {
    var requests = PictureLossRequests()
    requests.need()
    let times = Self.times(&requests, 0..<60_000, keyframes: Set(stride(from: 10, to: 60_000, by: 10)))
    #expect(times.count <= 60 + PictureLossRequests.maximumCredit)
    #expect(times.prefix(5) == [0, 500, 1000, 1500, 2000])
    #expect(zip(times, times.dropFirst()).suffix(20).allSatisfy { $1 - $0 == 1000 })
    #expect(requests.count == times.count)
  }
}
