import Media
import Testing

@testable import Streaming

@Suite("Keyframe requests")
struct KeyframeRequestsTests {
  private static func milliseconds(_ count: Int64) -> MediaTime {
    .zero + .milliseconds(count)
  }

  @Test func `the first request is met by the next frame`() {
    var requests = KeyframeRequests(maximumInterval: .seconds(10))
    #expect(!requests.forcesKeyframe(at: .zero))
    requests.request()
    #expect(requests.forcesKeyframe(at: .zero))
  }

  @Test func `a request soon after a keyframe waits for half a second, and is not lost`() {
    var requests = KeyframeRequests(maximumInterval: .seconds(10))
    requests.keyframeEncoded(at: .zero)
    requests.request()
    #expect(!requests.forcesKeyframe(at: Self.milliseconds(499)))
    #expect(requests.dueTime == Self.milliseconds(500))
    #expect(requests.forcesKeyframe(at: Self.milliseconds(500)))
  }

  @Test func `a hundred requests cost one keyframe`() {
    var requests = KeyframeRequests(maximumInterval: .seconds(10))
    for _ in 0..<100 { requests.request() }
    #expect(requests.forcesKeyframe(at: .zero))
    requests.keyframeEncoded(at: .zero)
    #expect(!requests.isPending)
    #expect(!requests.forcesKeyframe(at: Self.milliseconds(5000)))
  }

  @Test func `a keyframe is forced when the last one is too long ago`() {
    var requests = KeyframeRequests(maximumInterval: .seconds(2))
    requests.keyframeEncoded(at: .zero)
    #expect(!requests.forcesKeyframe(at: Self.milliseconds(1999)))
    #expect(requests.forcesKeyframe(at: Self.milliseconds(2000)))
  }

  @Test func `a keyframe that the encoder makes by itself meets a pending request`() {
    var requests = KeyframeRequests(maximumInterval: .seconds(10))
    requests.keyframeEncoded(at: .zero)
    requests.request()
    requests.keyframeEncoded(at: Self.milliseconds(100))
    #expect(requests.dueTime == nil)
  }

  @Test func `an unrequested keyframe is allowed half a second after the last one`() {
    var requests = KeyframeRequests(maximumInterval: .seconds(10))
    #expect(requests.allowsKeyframe(at: .zero))
    requests.keyframeEncoded(at: .zero)
    #expect(!requests.allowsKeyframe(at: Self.milliseconds(499)))
    #expect(requests.allowsKeyframe(at: Self.milliseconds(500)))
    #expect(!requests.forcesKeyframe(at: Self.milliseconds(500)))
  }
}
