import Media
import Testing

@testable import Streaming

@Suite("Video schedule: frames")
struct VideoScheduleTests {
  private let dialogue = VideoScheduleDialogue()

  @Test func `a frame is encoded with its capture time, and the slate is due two seconds after its arrival`() {
    #expect(self.dialogue.deadline == 2000)
    #expect(self.dialogue.frame(at: 100, latency: 30) == .newest(70))
    #expect(self.dialogue.deadline == 2100)
    #expect(self.dialogue.frame(at: 140, latency: 30) == .newest(110))
    #expect(self.dialogue.deadline == 2140)
    #expect(self.dialogue.takeNotices() == [])
  }

  @Test func `a frame that is not newer than the last one is dropped`() {
    _ = self.dialogue.frame(at: 100)
    #expect(self.dialogue.frame(at: 120, latency: 20) == .dropNewest)
    #expect(self.dialogue.frame(at: 120, latency: 50) == .dropNewest)
    #expect(self.dialogue.frame(at: 120, latency: 19) == .newest(101))
  }

  @Test func `a keyframe request is met by the next frame`() {
    _ = self.dialogue.frame(at: 0)
    #expect(self.dialogue.handle(.keyframeRequested, at: 600) == .none)
    #expect(self.dialogue.frame(at: 640) == .newest(640, forcesKeyframe: true))
    #expect(self.dialogue.frame(at: 680) == .newest(680))
  }

  @Test func `a keyframe request soon after a keyframe is met half a second after it`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.handle(.keyframeRequested, at: 10)
    #expect(self.dialogue.frame(at: 480) == .newest(480))
    #expect(self.dialogue.frame(at: 520) == .newest(520, forcesKeyframe: true))
  }

  @Test func `a frame ten seconds after the last keyframe is one`() {
    _ = self.dialogue.frame(at: 0)
    for time in stride(from: Int64(1000), to: 10_000, by: 1000) {
      #expect(self.dialogue.frame(at: time) == .newest(time))
    }
    #expect(self.dialogue.frame(at: 10_000) == .newest(10_000, forcesKeyframe: true))
  }

  @Test func `without a frame for 130 ms the last one is encoded again for a keyframe request`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.frame(at: 1000, latency: 30)
    _ = self.dialogue.handle(.keyframeRequested, at: 1010)
    #expect(self.dialogue.deadline == 1130)
    // With the latency of the source's frames.
    #expect(self.dialogue.timeout(at: 1130) == .again(1100, forcesKeyframe: true))
  }

  @Test func `a frame that is up to 130 ms late is not replaced by a repeated one`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.handle(.keyframeRequested, at: 600)
    _ = self.dialogue.frame(at: 600)
    #expect(self.dialogue.timeouts(before: 730).isEmpty)
    #expect(self.dialogue.frame(at: 729) == .newest(729))
  }

  @Test func `a timeout before the deadline does nothing`() {
    _ = self.dialogue.frame(at: 0)
    #expect(self.dialogue.timeout(at: 1999) == .none)
    #expect(self.dialogue.takeNotices() == [] && self.dialogue.deadline == 2000)
  }

  @Test func `a still source is encoded at the full rate for 1.5 s for a new viewer, and then twice per second`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.frame(at: 5000)
    _ = self.dialogue.handle(.keyframeRequested, at: 5000)
    let repeated = self.dialogue.timeouts(before: 7000)
    #expect(repeated.first?.action == .again(5130, forcesKeyframe: true))
    let times: [Int64] = Array(stride(from: 5130, through: 6490, by: 40)) + [6990]
    #expect(repeated.map(\.time) == times)
    #expect(self.dialogue.deadline == 7000)
  }

  @Test func `changed effects show on a still source once a frame is overdue`() {
    _ = self.dialogue.frame(at: 0)
    #expect(self.dialogue.handle(.redrawRequested, at: 50) == .none)
    #expect(self.dialogue.deadline == 130)
    #expect(self.dialogue.timeout(at: 130) == .again(130))
    #expect(self.dialogue.deadline == 2000)
  }

  @Test func `changed effects need no repeated frame where the next one comes in time`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.handle(.redrawRequested, at: 10)
    _ = self.dialogue.frame(at: 40)
    #expect(self.dialogue.deadline == 2040)
  }

  @Test func `nothing is repeated before the first frame`() {
    _ = self.dialogue.handle(.keyframeRequested, at: 0)
    _ = self.dialogue.handle(.redrawRequested, at: 0)
    #expect(self.dialogue.deadline == 2000)
  }

  @Test func `a frame that an effect drops is not output, and the slate comes as if it had not arrived`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.isEffectDropping = true
    #expect(self.dialogue.frame(at: 1000) == .newest(1000))
    #expect(self.dialogue.deadline == 2000)
    #expect(self.dialogue.timeout(at: 2000) == .slate(2000, forcesKeyframe: true))
    #expect(self.dialogue.frame(at: 2020) == .newest(2020))
    #expect(self.dialogue.timeout(at: 2040) == .slate(2040))
    self.dialogue.isEffectDropping = false
    #expect(self.dialogue.frame(at: 2060) == .newest(2060))
    #expect(self.dialogue.takeNotices().last == .slateHidden)
  }

  @Test func `a repeated frame that an effect drops is tried again after a frame interval`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.isEffectDropping = true
    _ = self.dialogue.handle(.keyframeRequested, at: 600)
    #expect(self.dialogue.timeout(at: 600) == .again(600, forcesKeyframe: true))
    #expect(self.dialogue.deadline == 640)
    #expect(self.dialogue.timeout(at: 640) == .again(640, forcesKeyframe: true))
    #expect(self.dialogue.deadline == 680)
  }
}
