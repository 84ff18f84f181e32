import Media
import Testing

@testable import Streaming

@Suite("Video schedule: sources")
struct VideoScheduleSourceTests {
  private let dialogue = VideoScheduleDialogue()

  @Test func `another source replaces the present one with its first frame, a keyframe`() {
    _ = self.dialogue.frame(at: 0)
    #expect(self.dialogue.frame(at: 1000, from: VideoScheduleDialogue.other) == .newest(1000, forcesKeyframe: true))
    #expect(self.dialogue.takeNotices() == [.sourceSwitched])
    #expect(self.dialogue.frame(at: 1040, from: VideoScheduleDialogue.other) == .newest(1040))
    #expect(self.dialogue.takeNotices() == [])
  }

  @Test func `a cut within half a second of a keyframe is not a keyframe`() {
    _ = self.dialogue.frame(at: 0)
    #expect(self.dialogue.frame(at: 499, from: VideoScheduleDialogue.other) == .newest(499))
  }

  @Test func `the first frame of a source of higher latency follows the last one by a millisecond`() {
    _ = self.dialogue.frame(at: 1000)
    #expect(self.dialogue.frame(at: 1100, latency: 300, from: VideoScheduleDialogue.other) == .newest(1001))
    // Later frames of the new source are late until their capture times have caught up.
    #expect(self.dialogue.frame(at: 1140, latency: 300, from: VideoScheduleDialogue.other) == .dropNewest)
    #expect(self.dialogue.frame(at: 1340, latency: 300, from: VideoScheduleDialogue.other) == .newest(1040))
  }

  @Test func `repeated frames have the latency of the new source`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.frame(at: 1000, latency: 400, from: VideoScheduleDialogue.other)
    _ = self.dialogue.handle(.redrawRequested, at: 1000)
    #expect(self.dialogue.timeout(at: 1130) == .again(730))
  }

  @Test func `a repeated frame is never before the last output`() {
    _ = self.dialogue.frame(at: 1000)
    _ = self.dialogue.frame(at: 1010, latency: 400, from: VideoScheduleDialogue.other)
    _ = self.dialogue.handle(.redrawRequested, at: 1010)
    #expect(self.dialogue.timeout(at: 1140) == .again(1002))
  }

  @Test func `a switch while encoding is paused keeps the frame of the earlier source`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.schedule.isPaused = true
    #expect(self.dialogue.frame(at: 40, from: VideoScheduleDialogue.other) == .none)
    #expect(self.dialogue.takeNotices() == [.releaseSourceMemory, .sourceSwitched, .releaseSourceMemory])
    #expect(self.dialogue.timeout(at: 2000) == .again(2000))
  }

  @Test func `another source after the slate hides it`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.timeout(at: 2000)
    _ = self.dialogue.takeNotices()
    _ = self.dialogue.frame(at: 2020, from: VideoScheduleDialogue.other)
    #expect(self.dialogue.takeNotices() == [.sourceSwitched, .slateHidden])
  }

  @Test func `a switch to a frame that an effect drops is still a switch`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.isEffectDropping = true
    _ = self.dialogue.frame(at: 1000, from: VideoScheduleDialogue.other)
    #expect(self.dialogue.takeNotices() == [.sourceSwitched])
    self.dialogue.isEffectDropping = false
    // The cut is where the new source first becomes visible.
    #expect(self.dialogue.frame(at: 1040, from: VideoScheduleDialogue.other) == .newest(1040, forcesKeyframe: true))
  }
}
