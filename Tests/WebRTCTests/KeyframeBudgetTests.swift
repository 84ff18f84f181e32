import Media
import Testing
import WebRTC

@Suite("Budget of requested keyframes")
final class KeyframeBudgetTests {
  private var budget = KeyframeBudget()
  private var now = MediaTime.zero

  private func request(after delay: MediaDuration = .zero) -> Bool {
    self.budget.request(at: self.now + delay)
  }

  private func frame(_ byteCount: Int, isKeyframe: Bool = false) -> Bool {
    self.now += .milliseconds(33)
    return self.budget.handleFrame(byteCount: byteCount, isKeyframe: isKeyframe, at: self.now)
  }

  @Test func `requests before a keyframe are one; a hundred joins cost one keyframe`() {
    #expect((0..<100).map { _ in self.request() }.count { $0 } == 1)
    #expect(!self.frame(30_000, isKeyframe: true))
    #expect(self.request())
  }

  @Test func `an encoder that does not answer is asked again after a second`() {
    #expect(self.request() && !self.request(after: .milliseconds(999)))
    #expect(self.request(after: .seconds(1)))
  }

  @Test func `a viewer that always asks gets a fifth of the bits in keyframes`() {
    var (keyframes, all) = (0, 0)
    var isAsked = false
    for _ in 0..<3000 {
      let length = isAsked ? 40_000 : 8000
      all += length
      if isAsked { keyframes += length }
      let wasAsked = self.frame(length, isKeyframe: isAsked)
      let isNew = self.request()
      isAsked = wasAsked || isNew
    }
    #expect(keyframes > all / 8 && keyframes < all / 4)
  }

  @Test func `a request without credit is met when there is some, or by a keyframe that comes anyway`() {
    for _ in 0..<3 {
      #expect(self.request())
      #expect(!self.frame(30_000, isKeyframe: true))
    }
    // A fifth of the three is left: less than one.
    #expect(!self.request())
    #expect(!self.frame(30_000))
    #expect(self.frame(60_000))
    #expect(!self.frame(30_000, isKeyframe: true))
    #expect(!self.request())
    _ = self.frame(30_000, isKeyframe: true)
    // No request waits any more.
    #expect(!self.frame(400_000))
  }
}
