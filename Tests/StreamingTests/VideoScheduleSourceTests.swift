import Media
import Testing

@testable import Streaming

@Suite("Video schedule: sources")
struct VideoScheduleSourceTests {
  private let dialogue = VideoScheduleDialogue()

  @Test func `another source replaces the current one with its first frame, a keyframe`() {
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

  @Test func `a source whose latency is higher by less than a frame keeps its times after its first frame`() {
    _ = self.dialogue.frame(at: 1000)
    #expect(self.dialogue.frame(at: 1010, latency: 30, from: VideoScheduleDialogue.other) == .newest(1001))
    #expect(self.dialogue.frame(at: 1050, latency: 30, from: VideoScheduleDialogue.other) == .newest(1020))
  }

  @Test(arguments: [(0, 50), (0, 100), (0, 200), (0, 350), (0, 500), (200, 500), (50, 1500)] as [(Int64, Int64)])
  func `a switch between sources of different latency has no gap, and their times are right again after a second`(
    low: Int64, high: Int64
  ) {
    let (camera, other) = (VideoScheduleDialogue.camera, VideoScheduleDialogue.other)
    var shown: [(arrival: Int64, time: Int64)] = []
    // Frames of both sources are 40 ms apart, and 13 ms from those of the other.
    let phases: [(Range<Int64>, Int64, VideoSchedule.SourceID)] = [
      (0..<4000, low, camera), (4013..<9000, high, other), (9013..<14_000, low, camera),
    ]
    for (times, latency, source) in phases {
      for arrival in stride(from: times.lowerBound, to: times.upperBound, by: 40) {
        let action = self.dialogue.frame(at: arrival, latency: latency, from: source)
        guard case .encodeNewest(let time, _) = action else {
          Issue.record("\(action) at \(arrival)")
          continue
        }
        shown.append((arrival, (time - MediaTime.zero).ticks(timescale: 1000)))
        let decay = max(1000, 2 * (high - low))
        if arrival - times.lowerBound >= decay || times.lowerBound == 0 {
          #expect(shown.last?.time == arrival - latency)
        }
      }
    }
    for (last, next) in zip(shown, shown.dropFirst()) {
      #expect((1...80).contains(next.time - last.time), "\(last) \(next)")
      #expect(next.arrival - last.arrival <= 80)
    }
  }

  @Test(arguments: [(0, 0), (90, 77)] as [(Int64, Int64)])
  func `a source that begins with two seconds at once is shown as it comes, and has its own times from then on`(
    ahead: Int64, lead: Int64
  ) {
    for arrival in stride(from: 0, to: 4_000, by: 40) as StrideTo<Int64> { _ = self.dialogue.frame(at: arrival) }
    // The output is ahead of its arrival, as with frames that are reordered: the next one would be an interval later.
    if ahead > 0 { _ = self.dialogue.frame(at: 3_960, latency: -ahead) }
    var last = 3_960 + ahead
    for index in 0..<200 as Range<Int64> {
      // 57 frames within 56 ms, then one each 40 ms, of which every other one is late by 10 ms.
      let captured = 4_069 + (index - 56) * 40
      let arrival = index <= 56 ? 4_013 + index : captured + index % 2 * 10
      let action = self.dialogue.frame(at: arrival, latency: arrival - captured, from: VideoScheduleDialogue.other)
      guard case .encodeNewest(let timestamp, _) = action else {
        Issue.record("\(action) at \(arrival)")
        continue
      }
      let time = (timestamp - MediaTime.zero).ticks(timescale: 1000)
      #expect(time > last && time <= arrival + lead, "\(time) after \(last) at \(arrival)")
      // The lead decays within a second.
      if index >= (ahead > 0 ? 100 : 56) { #expect(time == captured) }
      last = time
    }
  }

  @Test func `a source that follows a pause in the frames keeps its times`() {
    _ = self.dialogue.frame(at: 0)
    #expect(
      self.dialogue.frame(at: 1000, latency: 400, from: VideoScheduleDialogue.other)
        == .newest(600, forcesKeyframe: true))
  }

  @Test func `repeated frames have the latency that the new source is shown with`() {
    _ = self.dialogue.frame(at: 1000)
    _ = self.dialogue.frame(at: 1040, latency: 400, from: VideoScheduleDialogue.other)
    _ = self.dialogue.handle(.redrawRequested, at: 1040)
    #expect(self.dialogue.timeout(at: 1170) == .again(1170))
    _ = self.dialogue.frame(at: 3000, latency: 400, from: VideoScheduleDialogue.other)
    _ = self.dialogue.handle(.redrawRequested, at: 3000)
    #expect(self.dialogue.timeout(at: 3130) == .again(2730))
  }

  @Test func `a repeated frame is never before the last output`() {
    _ = self.dialogue.frame(at: 1000)
    #expect(self.dialogue.frame(at: 1010, latency: 400) == .dropNewest)
    _ = self.dialogue.handle(.redrawRequested, at: 1010)
    #expect(self.dialogue.timeout(at: 1140) == .again(1001))
  }

  @Test func `a switch while encoding is paused keeps the frame of the previous source`() {
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
