import Media
import Testing

@testable import Streaming

@Suite("When the video schedule takes a source for lost")
struct VideoScheduleLossTests {
  private static func frame(
    _ dialogue: VideoScheduleDialogue, at time: Int64, arrival: Int64? = nil
  ) -> VideoSchedule.Action {
    dialogue.handle(
      .frame(
        FrameSummary(
          timestamp: VideoScheduleDialogue.time(time), source: VideoScheduleDialogue.camera, reportsLoss: true)),
      at: arrival ?? time)
  }

  private static func sample(
    _ dialogue: VideoScheduleDialogue, at time: Int64, latency: Int64 = 0, isKeyframe: Bool = false
  ) -> VideoSchedule.Action {
    dialogue.sample(at: time, latency: latency, isKeyframe: isKeyframe) { $0.reportsLoss = true }
  }

  @Test func `the last frame of a source that reports its loss stays until that`() {
    let dialogue = VideoScheduleDialogue()
    #expect(Self.frame(dialogue, at: 0) == .newest(0))
    #expect(dialogue.timeouts(before: 60_000).isEmpty)
    // For a viewer it is encoded again.
    _ = dialogue.handle(.keyframeRequested, at: 60_000)
    let repeated = dialogue.timeouts(from: 60_000, before: 62_000)
    #expect(repeated.first?.action == .again(60_000, forcesKeyframe: true) && repeated.count > 20)
    _ = dialogue.handle(.sourceEnded, at: 70_000)
    let shown = dialogue.timeouts(before: 70_400).first?.action
    #expect(shown == .slate(70_250, forcesKeyframe: true))
    #expect(dialogue.takeNotices().contains(.slateShown))
    #expect(Self.frame(dialogue, at: 71_000) == .newest(71_000, forcesKeyframe: true))
    #expect(dialogue.takeNotices().contains(.slateHidden))
  }

  @Test func `before its first frame, such a source is silent like any other`() {
    let dialogue = VideoScheduleDialogue()
    #expect(dialogue.timeouts(before: 2_100).first?.action == .slate(2_000))
  }

  @Test func `a source that reports no loss is waited for by its rhythm`() {
    let dialogue = VideoScheduleDialogue()
    for time in [0, 3_000, 6_000] as [Int64] { _ = dialogue.frame(at: time) }
    // The third frame shows that three seconds are no loss.
    #expect(dialogue.timeouts(before: 18_000).isEmpty)
    #expect(dialogue.timeouts(before: 18_100).first?.action == .slate(18_000, forcesKeyframe: true))
    // A single pause is no rhythm.
    let other = VideoScheduleDialogue()
    for time in [0, 40, 80, 1_900, 1_940] as [Int64] { _ = other.frame(at: time) }
    #expect(other.timeouts(before: 3_940).isEmpty && !other.timeouts(before: 4_000).isEmpty)
  }

  @Test func `samples of a stall are passed through with their times`() {
    let dialogue = VideoScheduleDialogue()
    #expect(Self.sample(dialogue, at: 0, isKeyframe: true) == .pass(0))
    #expect(Self.sample(dialogue, at: 40) == .pass(40))
    #expect(dialogue.timeouts(before: 8_000).isEmpty)
    for time in stride(from: 80, through: 8_000, by: 40) as StrideThrough<Int64> {
      #expect(Self.sample(dialogue, at: 8_000, latency: 8_000 - time) == .pass(time))
    }
  }

  @Test func `samples that are older than the slate or a repeated frame are only decoded`() {
    let dialogue = VideoScheduleDialogue()
    #expect(Self.sample(dialogue, at: 0, isKeyframe: true) == .pass(0))
    _ = dialogue.handle(.sourceEnded, at: 5_000)
    #expect(dialogue.timeouts(before: 8_000).last?.action == .slate(7_970))
    for time in [40, 80, 5_400] as [Int64] {
      let action = Self.sample(dialogue, at: 8_000, latency: 8_000 - time, isKeyframe: time == 5_400)
      #expect(action == .transcode(dropsFrames: true))
    }
    // The next one is decoded with those before it, and shown.
    #expect(Self.sample(dialogue, at: 8_000) == .transcode(dropsFrames: false))
  }

  @Test(arguments: [120, 900] as [Int64])
  func `frames that always come later than the slate's interval end the slate`(latency: Int64) {
    let dialogue = VideoScheduleDialogue()
    _ = dialogue.timeouts(before: 3_000)
    let last = dialogue.schedule.nextDeadline
    #expect(last > VideoScheduleDialogue.time(2_900))
    #expect(Self.frame(dialogue, at: 3_000 - latency, arrival: 3_000) != .dropNewest)
    #expect(dialogue.takeNotices().contains(.slateHidden))
    // In time with the source's clock once that has passed the slate's.
    #expect(dialogue.timeouts(before: 3_000 + latency + 200).allSatisfy { $0.time > 3_000 })
    #expect(Self.frame(dialogue, at: 3_200, arrival: 3_200 + latency) != .dropNewest)
    // Frames of a stall are older.
    let other = VideoScheduleDialogue()
    _ = other.timeouts(before: 6_000)
    #expect(Self.frame(other, at: 1_000, arrival: 6_000) == .dropNewest)
  }

  @Test func `a viewer of a source that is passed through and sends nothing new gets its last frame`() {
    let dialogue = VideoScheduleDialogue(settings: VideoSettings(passThrough: .on))
    #expect(Self.sample(dialogue, at: 0, isKeyframe: true) == .pass(0))
    #expect(Self.sample(dialogue, at: 40) == .pass(40))
    _ = dialogue.handle(.keyframeRequested, at: 10_000)
    #expect(dialogue.takeNotices() == [.requestKeyframeFromSource])
    #expect(dialogue.timeouts(before: 11_000).isEmpty)
    #expect(dialogue.timeout(at: 11_000) == .keepStill)
    dialogue.schedule.keepStill(at: VideoScheduleDialogue.time(11_000))
    let repeated = dialogue.timeouts(from: 11_000, before: 11_100).first
    #expect(repeated?.action == .again(11_000, forcesKeyframe: true))
    _ = dialogue.takeNotices()
    // The source is passed through again from its next keyframe on, for which it is asked once, when 1.5 s have passed.
    for time in [12_000, 12_600, 13_200] as [Int64] {
      #expect(Self.sample(dialogue, at: time) == .transcode(dropsFrames: false))
    }
    #expect(dialogue.takeNotices() == [.requestKeyframeFromSource])
    #expect(Self.sample(dialogue, at: 13_240, isKeyframe: true) == .pass(13_240))
  }

  @Test func `a viewer of another encoding gets the last frame of a still source, and the stream no keyframe`() {
    let dialogue = VideoScheduleDialogue()
    #expect(Self.frame(dialogue, at: 0) == .newest(0))
    _ = dialogue.handle(.frameRequested, at: 1_000)
    #expect(dialogue.timeouts(from: 1_000, before: 1_100).first?.action == .again(1_000))
    // A source with frames meets the request by the next one.
    let other = VideoScheduleDialogue()
    for time in [0, 33] as [Int64] { _ = Self.frame(other, at: time) }
    _ = other.handle(.frameRequested, at: 34)
    #expect(other.timeouts(before: 66).isEmpty)
    #expect(Self.frame(other, at: 66) == .newest(66))
    #expect(other.timeouts(before: 99).isEmpty)
    // While encoding is paused, a frame later.
    other.schedule.isPaused = true
    _ = other.handle(.frameRequested, at: 500)
    #expect(other.timeouts(from: 500, before: 600).first?.action == .again(500))
  }

  @Test func `a viewer of another encoding gets the last frame of what was passed through, once nothing new comes`() {
    let dialogue = VideoScheduleDialogue(settings: VideoSettings(passThrough: .on))
    #expect(Self.sample(dialogue, at: 0, isKeyframe: true) == .pass(0))
    // Samples in time meet the request: they are decoded for it.
    _ = dialogue.handle(.frameRequested, at: 20)
    for time in stride(from: 40, through: 1_560, by: 40) as StrideThrough<Int64> {
      #expect(dialogue.timeouts(before: time).isEmpty)
      #expect(Self.sample(dialogue, at: time) == .pass(time))
    }
    #expect(dialogue.timeouts(before: 9_000).isEmpty)
    _ = dialogue.handle(.frameRequested, at: 10_000)
    let repeated = dialogue.timeouts(from: 10_000, before: 20_000)
    let times: [Int64] =
      Array(stride(from: 10_000, to: 11_500, by: 40)) + Array(stride(from: 11_980, to: 20_000, by: 500))
    #expect(repeated.map(\.time) == times)
    #expect(repeated.allSatisfy { $0.action == .repeatDecoded(timestamp: VideoScheduleDialogue.time($0.time)) })
    // The stream itself is passed through as before, and its source asked for nothing.
    #expect(Self.sample(dialogue, at: 20_000) == .pass(20_000) && dialogue.takeNotices().isEmpty)
    // Without another encoding in use, until the end of the full rate.
    _ = dialogue.handle(.frameRequested, at: 30_000)
    #expect(dialogue.timeout(at: 30_000) == .repeatDecoded(timestamp: VideoScheduleDialogue.time(30_000)))
    dialogue.schedule.endDecodedRepetition(at: VideoScheduleDialogue.time(30_000))
    #expect(dialogue.deadline == 30_040)
    dialogue.schedule.endDecodedRepetition(at: VideoScheduleDialogue.time(31_500))
    #expect(dialogue.timeouts(from: 31_500, before: 60_000).isEmpty)
    // A frame interval apart, however slow the source is.
    let slow = VideoScheduleDialogue(settings: VideoSettings(passThrough: .on), frameRate: 1)
    #expect(Self.sample(slow, at: 0, isKeyframe: true) == .pass(0))
    _ = slow.handle(.frameRequested, at: 0)
    #expect(slow.timeouts(before: 5_000).map(\.time) == [1_500, 2_500, 3_500, 4_500])
  }

  @Test func `a source of which nothing can be decoded is passed through still, and asked again and again`() {
    let dialogue = VideoScheduleDialogue()
    #expect(Self.sample(dialogue, at: 0, isKeyframe: true) == .pass(0))
    func later(at time: Int64) -> VideoSchedule.Action {
      dialogue.sample(at: time) { ($0.reportsLoss, $0.isDecodable) = (true, false) }
    }
    _ = dialogue.handle(.keyframeRequested, at: 20_000)
    for time in stride(from: 20_000, through: 23_000, by: 40) as StrideThrough<Int64> {
      #expect(later(at: time) == .pass(time))
    }
    let asked = dialogue.takeNotices()
    #expect(asked.count == 6 && asked.allSatisfy { $0 == .requestKeyframeFromSource })
    // Once it is silent, the last frame is not known.
    #expect(dialogue.timeouts(before: 26_500).map(\.action) == [.keepStill, .keepStill, .keepStill])
    #expect(
      dialogue.takeNotices() == [.requestKeyframeFromSource, .requestKeyframeFromSource, .requestKeyframeFromSource])
    #expect(later(at: 27_000) == .pass(27_000))
    #expect(Self.sample(dialogue, at: 27_040, isKeyframe: true) == .pass(27_040))
    // One that can be decoded is encoded, since its keyframes are too far apart.
    _ = dialogue.handle(.keyframeRequested, at: 40_000)
    let actions = stride(from: 40_000, through: 42_000, by: 40).map { Self.sample(dialogue, at: $0) }
    #expect(actions.first == .pass(40_000) && actions.last == .transcode(dropsFrames: false))
  }

  @Test func `a source that is asked for the viewers of another encoding is passed through as before`() {
    let dialogue = VideoScheduleDialogue()
    #expect(Self.sample(dialogue, at: 0, isKeyframe: true) == .pass(0))
    for time in stride(from: 20_000, through: 22_000, by: 40) as StrideThrough<Int64> {
      _ = dialogue.handle(.groupRequested, at: time)
      #expect(Self.sample(dialogue, at: time) == .pass(time))
    }
    #expect(
      dialogue.takeNotices() == [
        .requestKeyframeFromSource, .requestKeyframeFromSource, .requestKeyframeFromSource, .requestKeyframeFromSource,
      ])
    // Silent: the stream needs no keyframe.
    #expect(dialogue.timeouts(before: 60_000).isEmpty)
  }

  @Test func `while encoding is paused, a frame is requested of the slate too`() {
    let dialogue = VideoScheduleDialogue()
    #expect(Self.frame(dialogue, at: 0) == .newest(0))
    _ = dialogue.handle(.sourceEnded, at: 100)
    #expect(dialogue.timeouts(before: 1_000).last?.action == .slate(990))
    dialogue.schedule.isPaused = true
    #expect(dialogue.timeouts(from: 1_000, before: 2_000).isEmpty)
    _ = dialogue.handle(.frameRequested, at: 2_000)
    #expect(dialogue.timeouts(from: 2_000, before: 2_200).map(\.action) == [.slate(2_030)])
  }

  @Test func `a source that has to be encoded and cannot be decoded is asked for a keyframe, twice a second`() {
    let dialogue = VideoScheduleDialogue(settings: VideoSettings(passThrough: .off))
    for time in stride(from: 0, through: 960, by: 40) as StrideThrough<Int64> {
      #expect(dialogue.sample(at: time) { $0.isDecodable = false } == .transcode(dropsFrames: false))
    }
    #expect(dialogue.takeNotices() == [.requestKeyframeFromSource, .requestKeyframeFromSource])
    #expect(dialogue.sample(at: 5_000) == .transcode(dropsFrames: false) && dialogue.takeNotices().isEmpty)
  }

  @Test func `a source that falls silent after a young keyframe is asked for the next one when that may come`() {
    let dialogue = VideoScheduleDialogue()
    #expect(Self.sample(dialogue, at: 0, isKeyframe: true) == .pass(0))
    _ = dialogue.handle(.keyframeRequested, at: 100)
    #expect(dialogue.timeouts(before: 500).isEmpty && dialogue.takeNotices().isEmpty)
    #expect(dialogue.timeouts(before: 1_500).isEmpty && dialogue.takeNotices() == [.requestKeyframeFromSource])
    #expect(dialogue.timeout(at: 1_500) == .keepStill)
  }

  @Test func `a viewer of a source with frames and rare keyframes waits for one of them`() {
    let dialogue = VideoScheduleDialogue(settings: VideoSettings(passThrough: .on))
    #expect(Self.sample(dialogue, at: 0, isKeyframe: true) == .pass(0))
    _ = dialogue.handle(.keyframeRequested, at: 1_000)
    for time in stride(from: 1_040, through: 9_000, by: 40) as StrideThrough<Int64> {
      #expect(dialogue.timeouts(before: time).isEmpty)
      #expect(Self.sample(dialogue, at: time) == .pass(time))
    }
  }
}
