import Media
import Testing

@testable import Streaming

@Suite("What a viewer gets that joins while a source sends nothing new")
struct VideoScheduleStillTests {
  private static func sample(
    _ dialogue: VideoScheduleDialogue, at time: Int64, latency: Int64 = 0, isKeyframe: Bool = true
  ) -> VideoSchedule.Action {
    dialogue.sample(at: time, latency: latency, isKeyframe: isKeyframe) { $0.reportsLoss = true }
  }

  private static func frame(
    _ dialogue: VideoScheduleDialogue, at time: Int64, latency: Int64 = 0
  ) -> VideoSchedule.Action {
    dialogue.handle(
      .frame(
        FrameSummary(
          timestamp: VideoScheduleDialogue.time(time - latency), source: VideoScheduleDialogue.camera,
          reportsLoss: true)), at: time)
  }

  /// Performs the action by which the last frame that was passed through is kept, as the pipeline does.
  private static func keepStill(_ dialogue: VideoScheduleDialogue, at time: Int64) {
    #expect(dialogue.timeouts(before: time).isEmpty)
    #expect(dialogue.timeout(at: time) == .keepStill)
    dialogue.schedule.keepStill(at: VideoScheduleDialogue.time(time))
  }

  private static func times(from start: Int64, before end: Int64, by step: Int) -> [Int64] {
    Array(stride(from: start, to: end, by: step))
  }

  private static func timestamps(_ actions: [(time: Int64, action: VideoSchedule.Action)]) -> [MediaTime] {
    actions.compactMap { item in
      if case .encodeLastAgain(let time, _) = item.action { time } else { nil }
    }
  }

  @Test func `a screen with a frame each 20 s that is passed through plays at once, and goes on`() {
    let dialogue = VideoScheduleDialogue()
    #expect(Self.sample(dialogue, at: 0) == .pass(0))
    _ = dialogue.handle(.keyframeRequested, at: 18_000)
    #expect(dialogue.takeNotices() == [.requestKeyframeFromSource])
    Self.keepStill(dialogue, at: 19_000)
    let first = dialogue.timeouts(from: 19_000, before: 20_000)
    #expect(first.first?.action == .again(19_000, forcesKeyframe: true))
    #expect(first.map(\.time) == Self.times(from: 19_000, before: 20_000, by: 40))
    // The next frame is one of the same encoding, which the player probes.
    #expect(Self.sample(dialogue, at: 20_000) == .transcode(dropsFrames: false))
    #expect(Self.frame(dialogue, at: 20_000) == .newest(20_000))
    let later = dialogue.timeouts(before: 40_000)
    let expected = Self.times(from: 20_130, before: 20_500, by: 40) + Self.times(from: 20_990, before: 40_000, by: 500)
    #expect(later.map(\.time) == expected)
    let all = Self.timestamps(first) + [VideoScheduleDialogue.time(20_000)] + Self.timestamps(later)
    #expect(all.count == first.count + later.count + 1)
    #expect(zip(all, all.dropFirst()).allSatisfy { $0 < $1 })
    // From then on as before.
    #expect(Self.sample(dialogue, at: 40_000) == .pass(40_000))
    #expect(dialogue.timeouts(before: 60_000).isEmpty)
    #expect(Self.sample(dialogue, at: 60_000) == .pass(60_000))
  }

  @Test func `a viewer whose keyframe is the only frame for a while gets it again a second later`() {
    let dialogue = VideoScheduleDialogue()
    #expect(Self.sample(dialogue, at: 0) == .pass(0))
    _ = dialogue.handle(.keyframeRequested, at: 19_500)
    #expect(Self.sample(dialogue, at: 20_000) == .pass(20_000))
    Self.keepStill(dialogue, at: 21_000)
    let repeated = dialogue.timeouts(from: 21_000, before: 24_000)
    #expect(repeated.first?.action == .again(21_000))
    let expected = Self.times(from: 21_000, before: 22_500, by: 40) + [22_980, 23_480, 23_980]
    #expect(repeated.map(\.time) == expected)
  }

  @Test func `a source that delivers is passed through as before while viewers join`() {
    let dialogue = VideoScheduleDialogue()
    for time in stride(from: 0, through: 8_000, by: 40) as StrideThrough<Int64> {
      #expect(dialogue.timeouts(before: time).isEmpty)
      #expect(Self.sample(dialogue, at: time, isKeyframe: time % 2_000 == 0) == .pass(time))
      if time % 1_000 == 0 { _ = dialogue.handle(.keyframeRequested, at: time) }
    }
  }

  @Test func `a source of keyframes a second apart is passed through while viewers join, although they are late`() {
    let dialogue = VideoScheduleDialogue()
    for time in stride(from: 0, through: 20_000, by: 1_050) as StrideThrough<Int64> {
      #expect(dialogue.timeouts(before: time).isEmpty)
      #expect(Self.sample(dialogue, at: time) == .pass(time))
      _ = dialogue.handle(.keyframeRequested, at: time + 20)
    }
  }

  @Test func `a stall of a source that delivers does not end pass-through for a viewer that has joined`() {
    let dialogue = VideoScheduleDialogue()
    for time in stride(from: 0, through: 2_080, by: 40) as StrideThrough<Int64> {
      if time == 1_960 { _ = dialogue.handle(.keyframeRequested, at: time) }
      #expect(Self.sample(dialogue, at: time, isKeyframe: time % 2_000 == 0) == .pass(time))
    }
    #expect(dialogue.timeouts(before: 3_900).isEmpty)
    #expect(Self.sample(dialogue, at: 3_900, isKeyframe: false) == .pass(3_900))
  }

  @Test func `what cannot be decoded for a viewer is tried once for each keyframe`() {
    let dialogue = VideoScheduleDialogue()
    #expect(Self.sample(dialogue, at: 0) == .pass(0))
    _ = dialogue.handle(.keyframeRequested, at: 19_500)
    #expect(Self.sample(dialogue, at: 20_000) == .pass(20_000))
    #expect(dialogue.timeout(at: 21_000) == .keepStill)
    #expect(dialogue.timeouts(before: 40_000).isEmpty)
    #expect(Self.sample(dialogue, at: 40_000) == .pass(40_000))
  }

  @Test func `frames of a slow source are encoded once each as soon as a viewer has enough`() {
    let dialogue = VideoScheduleDialogue()
    #expect(Self.frame(dialogue, at: 0) == .newest(0))
    _ = dialogue.handle(.keyframeRequested, at: 1_000)
    #expect(dialogue.timeouts(from: 1_000, before: 3_000).count > 36)
    for time in [3_000, 6_000, 9_000] as [Int64] {
      #expect(Self.frame(dialogue, at: time) == .newest(time))
      #expect(dialogue.timeouts(before: time + 3_000).isEmpty)
    }
  }

  @Test func `a frame that comes a little late is shown right after a repeated one, and one of a stall is not`() {
    let dialogue = VideoScheduleDialogue()
    #expect(Self.frame(dialogue, at: 0) == .newest(0))
    _ = dialogue.handle(.keyframeRequested, at: 5_000)
    #expect(dialogue.timeouts(from: 5_000, before: 6_020).last?.action == .again(6_000))
    #expect(Self.frame(dialogue, at: 6_020, latency: 60) == .newest(6_001))
    #expect(Self.frame(dialogue, at: 6_060, latency: 70) == .dropNewest)
    #expect(Self.frame(dialogue, at: 6_060, latency: 30) == .newest(6_030))
    let other = VideoScheduleDialogue()
    #expect(Self.frame(other, at: 0) == .newest(0))
    _ = other.handle(.keyframeRequested, at: 5_000)
    #expect(!other.timeouts(from: 5_000, before: 6_000).isEmpty)
    #expect(Self.frame(other, at: 6_000, latency: 2_100) == .dropNewest)
  }

  @Test func `an access unit that comes a little late is shown after the repeated frame`() {
    let cases: [(latency: Int64, isKeyframe: Bool, isOld: Bool)] = [
      (1_200, false, false), (2_100, false, true), (1_200, true, false), (2_100, true, true),
    ]
    for (latency, isKeyframe, isOld) in cases {
      let dialogue = VideoScheduleDialogue()
      #expect(Self.sample(dialogue, at: 0) == .pass(0))
      _ = dialogue.handle(.keyframeRequested, at: 10_000)
      Self.keepStill(dialogue, at: 11_000)
      _ = dialogue.timeouts(from: 11_000, before: 14_000)
      let action = Self.sample(dialogue, at: 14_000, latency: latency, isKeyframe: isKeyframe)
      // Not passed through: the access units behind it are as late, and older than what would be shown then.
      #expect(action == .transcode(dropsFrames: isOld), "\(latency) ms, \(isKeyframe)")
    }
  }
}
