import Media
import Testing

@testable import Streaming

@Suite("Video schedule: slate and pause")
struct VideoScheduleSlateTests {
  private let dialogue = VideoScheduleDialogue()

  @Test func `a source that is silent for two seconds shows the slate at the stream's rate`() {
    _ = self.dialogue.frame(at: 0)
    #expect(self.dialogue.timeout(at: 2000) == .slate(2000, forcesKeyframe: true))
    #expect(self.dialogue.takeNotices() == [.sourceSilent, .releaseSourceMemory, .slateShown])
    #expect(self.dialogue.deadline == 2040)
    #expect(self.dialogue.timeouts(before: 2200).map(\.time) == [2040, 2080, 2120, 2160])
    #expect(self.dialogue.takeNotices() == [])
  }

  @Test func `a pipeline that was held up does not catch up on slates`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.timeout(at: 2000)
    #expect(self.dialogue.timeout(at: 2500) == .slate(2500))
    #expect(self.dialogue.timeouts(before: 2600).map(\.action) == [.slate(2540), .slate(2580)])
  }

  @Test func `the first frame after the slate replaces it, and is a keyframe half a second after the last one`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.timeout(at: 2000)
    _ = self.dialogue.takeNotices()
    #expect(self.dialogue.frame(at: 2020) == .newest(2020))
    #expect(self.dialogue.takeNotices() == [.slateHidden])
    #expect(self.dialogue.deadline == 4020)
    _ = self.dialogue.timeout(at: 4020)
    #expect(self.dialogue.frame(at: 4530) == .newest(4530, forcesKeyframe: true))
  }

  @Test func `a source without a frame at the start begins with the slate`() {
    let dialogue = VideoScheduleDialogue(isSourceSilent: true, at: 2000)
    #expect(dialogue.deadline == 2000)
    #expect(dialogue.timeout(at: 2000) == .slate(2000))
    #expect(dialogue.takeNotices().contains(.sourceSilent))
    #expect(dialogue.frame(at: 2010) == .newest(2010))
  }

  @Test func `a source that ends shows the slate after 250 ms`() {
    _ = self.dialogue.frame(at: 1000)
    #expect(self.dialogue.handle(.sourceEnded, at: 1100) == .none)
    #expect(self.dialogue.takeNotices() == [.releaseSourceMemory, .slateShown])
    #expect(self.dialogue.deadline == 1350)
    #expect(self.dialogue.timeout(at: 1350) == .slate(1350))
    #expect(self.dialogue.takeNotices() == [])
  }

  @Test func `a stream that ends with its source encodes nothing after that for an hour, whatever is requested`() {
    var settings = VideoSettings()
    settings.slateDelayAfterEnd = .seconds(3600)
    let dialogue = VideoScheduleDialogue(settings: settings)
    _ = dialogue.frame(at: 1000)
    #expect(dialogue.handle(.sourceEnded, at: 1100) == .none)
    #expect(
      dialogue.handle(.keyframeRequested, at: 1200) == .none && dialogue.handle(.redrawRequested, at: 1300) == .none)
    #expect(dialogue.timeouts(before: 1100 + 3_600_000).isEmpty)
  }

  @Test func `a source that ends before its first frame fails the stream`() {
    #expect(self.dialogue.handle(.sourceEnded, at: 10) == .fail)
  }

  @Test func `no slate is encoded at a time that frames have already reached`() {
    _ = self.dialogue.frame(at: 0, latency: -90)
    _ = self.dialogue.handle(.sourceEnded, at: 0)
    _ = self.dialogue.frame(at: 240, latency: -90)
    _ = self.dialogue.handle(.sourceEnded, at: 50)
    #expect(self.dialogue.timeout(at: 300) == .none)
    #expect(self.dialogue.timeout(at: 340) == .slate(340))
  }

  @Test func `a keyframe request while the slate is shown is met by the slate`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.timeout(at: 2000)
    _ = self.dialogue.handle(.keyframeRequested, at: 2600)
    #expect(self.dialogue.deadline == 2040)
    #expect(self.dialogue.timeout(at: 2600) == .slate(2600, forcesKeyframe: true))
  }

  @Test func `while encoding is paused the last frame is encoded every two seconds, and new ones are dropped`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.schedule.isPaused = true
    #expect(self.dialogue.frame(at: 1000) == .none)
    #expect(self.dialogue.takeNotices() == [.releaseSourceMemory])
    #expect(self.dialogue.timeout(at: 2000) == .again(2000))
    #expect(self.dialogue.frame(at: 2900) == .none)
    #expect(self.dialogue.deadline == 4000)
  }

  @Test func `while encoding is paused a keyframe request repeats the last frame at once`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.schedule.isPaused = true
    _ = self.dialogue.frame(at: 900)
    _ = self.dialogue.handle(.keyframeRequested, at: 910)
    #expect(self.dialogue.timeout(at: 910) == .again(910, forcesKeyframe: true))
  }

  @Test func `while encoding is paused changed effects show within a frame interval`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.schedule.isPaused = true
    _ = self.dialogue.handle(.redrawRequested, at: 10)
    #expect(self.dialogue.deadline == 40)
    #expect(self.dialogue.timeout(at: 40) == .again(40))
    #expect(self.dialogue.deadline == 2000)
  }

  @Test func `encoding that is paused from the start keeps the first frame and encodes none`() {
    self.dialogue.schedule.isPaused = true
    #expect(self.dialogue.frame(at: 10) == .keepNewest(timestamp: VideoScheduleDialogue.time(10)))
    #expect(self.dialogue.frame(at: 50) == .none)
    #expect(self.dialogue.deadline == 2050)
    self.dialogue.schedule.isPaused = false
    #expect(self.dialogue.frame(at: 90) == .newest(90))
  }

  @Test func `a slate is encoded during a pause only for a keyframe request`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.timeout(at: 2000)
    self.dialogue.schedule.isPaused = true
    #expect(self.dialogue.timeouts(before: 3000).isEmpty)
    _ = self.dialogue.handle(.keyframeRequested, at: 3000)
    #expect(self.dialogue.timeout(at: 3000) == .slate(3000, forcesKeyframe: true))
  }

  @Test func `the first frame after a pause is encoded`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.schedule.isPaused = true
    _ = self.dialogue.frame(at: 40)
    self.dialogue.schedule.isPaused = false
    #expect(self.dialogue.frame(at: 80) == .newest(80))
    #expect(self.dialogue.takeNotices() == [.releaseSourceMemory])
  }
}
