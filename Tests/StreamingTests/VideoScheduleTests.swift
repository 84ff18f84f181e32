import Bitstreams
import Media
import NIOCore
import Testing

@testable import Streaming

/// A schedule in virtual time, in milliseconds from 0.
private final class Dialogue {
  static let camera = VideoSchedule.SourceID(number: 1)
  static let other = VideoSchedule.SourceID(number: 2)
  static let description = CodecDescription.h264(
    H264Description(
      sequenceParameterSet: [0x67], pictureParameterSet: [0x68], width: 64, height: 48, frameRate: 25))

  var schedule: VideoSchedule
  /// Properties of the encoded frames, as the pipeline reports them.
  var isEffectDropping = false
  /// Notices since the last ``takeNotices()``.
  private var notices: [VideoSchedule.Notice] = []

  /// A schedule at 25 frames per second, with a slate after 2 s and a keyframe every 10 s.
  init(settings: VideoSettings = VideoSettings(), isSourceSilent: Bool = false, at time: Int64 = 0) {
    self.schedule = VideoSchedule(
      VideoSchedule.Configuration(
        format: VideoFormat(width: 64, height: 48, frameRate: 25), passThrough: PassThroughRule(settings),
        slateDelay: .seconds(2), pausedInterval: .seconds(2), maximumKeyframeInterval: .seconds(10)),
      source: Self.camera, isSourceSilent: isSourceSilent, at: Self.time(time))
  }

  static func time(_ milliseconds: Int64) -> MediaTime { .zero + .milliseconds(milliseconds) }

  /// Milliseconds until the next deadline, from 0.
  var deadline: Int64 { (self.schedule.nextDeadline - MediaTime.zero).ticks(timescale: 1000) }

  /// Delivers a frame, captured `latency` milliseconds before.
  func frame(at time: Int64, latency: Int64 = 0, from source: VideoSchedule.SourceID = camera) -> VideoSchedule.Action {
    self.handle(.frame(FrameSummary(timestamp: Self.time(time - latency), source: source)), at: time)
  }

  /// Delivers an access unit with equal decode and presentation times.
  func sample(
    at time: Int64, latency: Int64 = 0, isKeyframe: Bool = false, from source: VideoSchedule.SourceID = camera,
    _ change: (inout SampleSummary) -> Void = { _ in }
  ) -> VideoSchedule.Action {
    var sample = SampleSummary(
      decodeTime: Self.time(time - latency), presentationTime: Self.time(time - latency), isKeyframe: isKeyframe,
      description: Self.description, source: source)
    change(&sample)
    return self.handle(.sample(sample), at: time)
  }

  func handle(_ event: VideoSchedule.Event, at time: Int64) -> VideoSchedule.Action {
    self.finish(self.schedule.handle(event, at: Self.time(time)), at: time)
  }

  func timeout(at time: Int64) -> VideoSchedule.Action {
    self.finish(self.schedule.handleTimeout(at: Self.time(time)), at: time)
  }

  /// Runs all timeouts before a time.
  ///
  /// - Returns: The times of those that encoded, with their actions.
  func timeouts(before end: Int64) -> [(time: Int64, action: VideoSchedule.Action)] {
    var actions: [(Int64, VideoSchedule.Action)] = []
    // A schedule that does not move its deadline ends here too.
    for _ in 0..<1000 where self.deadline < end {
      let time = self.deadline
      let action = self.timeout(at: time)
      if action != .none { actions.append((time, action)) }
    }
    return actions
  }

  func takeNotices() -> [VideoSchedule.Notice] {
    defer { self.notices = [] }
    return self.notices
  }

  /// Performs an action as the pipeline does: an encoder that makes the keyframes it is asked for, and one at the start.
  private func finish(_ action: VideoSchedule.Action, at time: Int64) -> VideoSchedule.Action {
    self.notices += self.schedule.takeNotices()
    switch action {
    case .encodeNewest(_, let forcesKeyframe), .encodeLastAgain(_, let forcesKeyframe),
      .encodeSlate(_, let forcesKeyframe):
      let isSlate = if case .encodeSlate = action { true } else { false }
      let result: VideoSchedule.EncodingResult =
        self.isEffectDropping && !isSlate ? .dropped : forcesKeyframe || !self.hasEncoded ? .keyframe : .frame
      if result != .dropped { self.hasEncoded = true }
      self.schedule.finishEncoding(result, at: Self.time(time))
      self.notices += self.schedule.takeNotices()
    default: break
    }
    return action
  }

  private var hasEncoded = false
}

private func newest(_ time: Int64, forcesKeyframe: Bool = false) -> VideoSchedule.Action {
  .encodeNewest(timestamp: Dialogue.time(time), forcesKeyframe: forcesKeyframe)
}

private func again(_ time: Int64, forcesKeyframe: Bool = false) -> VideoSchedule.Action {
  .encodeLastAgain(timestamp: Dialogue.time(time), forcesKeyframe: forcesKeyframe)
}

private func slate(_ time: Int64, forcesKeyframe: Bool = false) -> VideoSchedule.Action {
  .encodeSlate(timestamp: Dialogue.time(time), forcesKeyframe: forcesKeyframe)
}

private func pass(_ time: Int64, decodesSnapshot: Bool = false) -> VideoSchedule.Action {
  .passThrough(
    decodeTime: Dialogue.time(time), presentationTime: Dialogue.time(time), decodesSnapshot: decodesSnapshot)
}

@Suite("Video schedule: frames")
struct VideoScheduleTests {
  private let dialogue = Dialogue()

  @Test func `a frame is encoded with its capture time, and the slate is due two seconds after its arrival`() {
    #expect(self.dialogue.deadline == 2000)
    #expect(self.dialogue.frame(at: 100, latency: 30) == newest(70))
    #expect(self.dialogue.deadline == 2100)
    #expect(self.dialogue.frame(at: 140, latency: 30) == newest(110))
    #expect(self.dialogue.deadline == 2140)
    #expect(self.dialogue.takeNotices() == [])
  }

  @Test func `a frame that is not newer than the last one is dropped`() {
    _ = self.dialogue.frame(at: 100)
    #expect(self.dialogue.frame(at: 120, latency: 20) == .dropNewest)
    #expect(self.dialogue.frame(at: 120, latency: 50) == .dropNewest)
    #expect(self.dialogue.frame(at: 120, latency: 19) == newest(101))
  }

  @Test func `a keyframe request is met by the next frame`() {
    _ = self.dialogue.frame(at: 0)
    #expect(self.dialogue.handle(.keyframeRequested, at: 600) == .none)
    #expect(self.dialogue.frame(at: 640) == newest(640, forcesKeyframe: true))
    #expect(self.dialogue.frame(at: 680) == newest(680))
  }

  @Test func `a keyframe request soon after a keyframe is met half a second after it`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.handle(.keyframeRequested, at: 10)
    #expect(self.dialogue.frame(at: 480) == newest(480))
    #expect(self.dialogue.frame(at: 520) == newest(520, forcesKeyframe: true))
  }

  @Test func `a frame ten seconds after the last keyframe is one`() {
    _ = self.dialogue.frame(at: 0)
    for time in stride(from: Int64(1000), to: 10_000, by: 1000) {
      #expect(self.dialogue.frame(at: time) == newest(time))
    }
    #expect(self.dialogue.frame(at: 10_000) == newest(10_000, forcesKeyframe: true))
  }

  @Test func `without a frame for 130 ms the last one is encoded again for a keyframe request`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.frame(at: 1000, latency: 30)
    _ = self.dialogue.handle(.keyframeRequested, at: 1010)
    #expect(self.dialogue.deadline == 1130)
    // With the latency of the source's frames.
    #expect(self.dialogue.timeout(at: 1130) == again(1100, forcesKeyframe: true))
  }

  @Test func `a frame that is up to 130 ms late is not pushed out by a repeated one`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.handle(.keyframeRequested, at: 600)
    _ = self.dialogue.frame(at: 600)
    #expect(self.dialogue.timeouts(before: 730).isEmpty)
    #expect(self.dialogue.frame(at: 729) == newest(729))
  }

  @Test func `a timeout before the deadline does nothing`() {
    _ = self.dialogue.frame(at: 0)
    #expect(self.dialogue.timeout(at: 1999) == .none)
    #expect(self.dialogue.takeNotices() == [] && self.dialogue.deadline == 2000)
  }

  @Test func `a still source is encoded at the full rate for 1.5 s for a new viewer, and then rests`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.frame(at: 5000)
    _ = self.dialogue.handle(.keyframeRequested, at: 5000)
    let repeated = self.dialogue.timeouts(before: 7000)
    #expect(repeated.first?.time == 5130 && repeated.first?.action == again(5130, forcesKeyframe: true))
    #expect(zip(repeated, repeated.dropFirst()).allSatisfy { $1.time - $0.time == 40 })
    #expect(repeated.last?.time == 6490)
    #expect(self.dialogue.deadline == 7000)
  }

  @Test func `changed effects show on a still source once a frame is overdue`() {
    _ = self.dialogue.frame(at: 0)
    #expect(self.dialogue.handle(.redrawRequested, at: 50) == .none)
    #expect(self.dialogue.deadline == 130)
    #expect(self.dialogue.timeout(at: 130) == again(130))
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
    #expect(self.dialogue.frame(at: 1000) == newest(1000))
    #expect(self.dialogue.deadline == 2000)
    #expect(self.dialogue.timeout(at: 2000) == slate(2000, forcesKeyframe: true))
    #expect(self.dialogue.frame(at: 2020) == newest(2020))
    #expect(self.dialogue.timeout(at: 2040) == slate(2040))
    self.dialogue.isEffectDropping = false
    #expect(self.dialogue.frame(at: 2060) == newest(2060))
    #expect(self.dialogue.takeNotices().last == .slateHidden)
  }

  @Test func `a repeated frame that an effect drops is tried again after a frame interval`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.isEffectDropping = true
    _ = self.dialogue.handle(.keyframeRequested, at: 600)
    #expect(self.dialogue.timeout(at: 600) == again(600, forcesKeyframe: true))
    #expect(self.dialogue.deadline == 640)
    #expect(self.dialogue.timeout(at: 640) == again(640, forcesKeyframe: true))
    #expect(self.dialogue.deadline == 680)
  }
}

@Suite("Video schedule: slate and pause")
struct VideoScheduleSlateTests {
  private let dialogue = Dialogue()

  @Test func `a source that is silent for two seconds shows the slate at the stream's rate`() {
    _ = self.dialogue.frame(at: 0)
    #expect(self.dialogue.timeout(at: 2000) == slate(2000, forcesKeyframe: true))
    #expect(self.dialogue.takeNotices() == [.sourceSilent, .releaseSourceMemory, .slateShown])
    #expect(self.dialogue.deadline == 2040)
    #expect(self.dialogue.timeouts(before: 2200).map(\.time) == [2040, 2080, 2120, 2160])
    #expect(self.dialogue.takeNotices() == [])
  }

  @Test func `a pipeline that was held up does not catch up on slates`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.timeout(at: 2000)
    #expect(self.dialogue.timeout(at: 2500) == slate(2500))
    #expect(self.dialogue.timeouts(before: 2600).map(\.action) == [slate(2540), slate(2580)])
  }

  @Test func `the first frame after the slate replaces it, and is a keyframe half a second after the last one`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.timeout(at: 2000)
    _ = self.dialogue.takeNotices()
    #expect(self.dialogue.frame(at: 2020) == newest(2020))
    #expect(self.dialogue.takeNotices() == [.slateHidden])
    #expect(self.dialogue.deadline == 4020)
    _ = self.dialogue.timeout(at: 4020)
    #expect(self.dialogue.frame(at: 4530) == newest(4530, forcesKeyframe: true))
  }

  @Test func `a source without a frame at the start begins with the slate`() {
    let dialogue = Dialogue(isSourceSilent: true, at: 2000)
    #expect(dialogue.deadline == 2000)
    #expect(dialogue.timeout(at: 2000) == slate(2000))
    #expect(dialogue.takeNotices().contains(.sourceSilent))
    #expect(dialogue.frame(at: 2010) == newest(2010))
  }

  @Test func `a source that ends shows the slate after 250 ms`() {
    _ = self.dialogue.frame(at: 1000)
    #expect(self.dialogue.handle(.sourceEnded, at: 1100) == .none)
    #expect(self.dialogue.takeNotices() == [.releaseSourceMemory, .slateShown])
    #expect(self.dialogue.deadline == 1350)
    #expect(self.dialogue.timeout(at: 1350) == slate(1350))
    #expect(self.dialogue.takeNotices() == [])
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
    #expect(self.dialogue.timeout(at: 340) == slate(340))
  }

  @Test func `a keyframe request while the slate is shown is met by the slate`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.timeout(at: 2000)
    _ = self.dialogue.handle(.keyframeRequested, at: 2600)
    #expect(self.dialogue.deadline == 2040)
    #expect(self.dialogue.timeout(at: 2600) == slate(2600, forcesKeyframe: true))
  }

  @Test func `while encoding is paused the last frame is encoded every two seconds, and new ones are dropped`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.schedule.isPaused = true
    #expect(self.dialogue.frame(at: 1000) == .none)
    #expect(self.dialogue.takeNotices() == [.releaseSourceMemory])
    #expect(self.dialogue.timeout(at: 2000) == again(2000))
    #expect(self.dialogue.frame(at: 2900) == .none)
    #expect(self.dialogue.deadline == 4000)
  }

  @Test func `while encoding is paused a keyframe request repeats the last frame at once`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.schedule.isPaused = true
    _ = self.dialogue.frame(at: 900)
    _ = self.dialogue.handle(.keyframeRequested, at: 910)
    #expect(self.dialogue.timeout(at: 910) == again(910, forcesKeyframe: true))
  }

  @Test func `while encoding is paused changed effects show within a frame interval`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.schedule.isPaused = true
    _ = self.dialogue.handle(.redrawRequested, at: 10)
    #expect(self.dialogue.deadline == 40)
    #expect(self.dialogue.timeout(at: 40) == again(40))
    #expect(self.dialogue.deadline == 2000)
  }

  @Test func `encoding that is paused from the start keeps the first frame and encodes none`() {
    self.dialogue.schedule.isPaused = true
    #expect(self.dialogue.frame(at: 10) == .keepNewest(timestamp: Dialogue.time(10)))
    #expect(self.dialogue.frame(at: 50) == .none)
    #expect(self.dialogue.deadline == 2050)
    self.dialogue.schedule.isPaused = false
    #expect(self.dialogue.frame(at: 90) == newest(90))
  }

  @Test func `a slate is encoded during a pause only for a keyframe request`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.timeout(at: 2000)
    self.dialogue.schedule.isPaused = true
    #expect(self.dialogue.timeouts(before: 3000).isEmpty)
    _ = self.dialogue.handle(.keyframeRequested, at: 3000)
    #expect(self.dialogue.timeout(at: 3000) == slate(3000, forcesKeyframe: true))
  }

  @Test func `the first frame after a pause is encoded`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.schedule.isPaused = true
    _ = self.dialogue.frame(at: 40)
    self.dialogue.schedule.isPaused = false
    #expect(self.dialogue.frame(at: 80) == newest(80))
    #expect(self.dialogue.takeNotices() == [.releaseSourceMemory])
  }
}

@Suite("Video schedule: sources")
struct VideoScheduleSourceTests {
  private let dialogue = Dialogue()

  @Test func `another source replaces the present one with its first frame, a keyframe`() {
    _ = self.dialogue.frame(at: 0)
    #expect(self.dialogue.frame(at: 1000, from: Dialogue.other) == newest(1000, forcesKeyframe: true))
    #expect(self.dialogue.takeNotices() == [.sourceSwitched])
    #expect(self.dialogue.frame(at: 1040, from: Dialogue.other) == newest(1040))
    #expect(self.dialogue.takeNotices() == [])
  }

  @Test func `a cut within half a second of a keyframe is not a keyframe`() {
    _ = self.dialogue.frame(at: 0)
    #expect(self.dialogue.frame(at: 499, from: Dialogue.other) == newest(499))
  }

  @Test func `the first frame of a source of higher latency follows the last one by a millisecond`() {
    _ = self.dialogue.frame(at: 1000)
    #expect(self.dialogue.frame(at: 1100, latency: 300, from: Dialogue.other) == newest(1001))
    // Later frames of the new source are late until their capture times have caught up.
    #expect(self.dialogue.frame(at: 1140, latency: 300, from: Dialogue.other) == .dropNewest)
    #expect(self.dialogue.frame(at: 1340, latency: 300, from: Dialogue.other) == newest(1040))
  }

  @Test func `repeated frames have the latency of the new source`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.frame(at: 1000, latency: 400, from: Dialogue.other)
    _ = self.dialogue.handle(.redrawRequested, at: 1000)
    #expect(self.dialogue.timeout(at: 1130) == again(730))
  }

  @Test func `a repeated frame is never before the last output`() {
    _ = self.dialogue.frame(at: 1000)
    _ = self.dialogue.frame(at: 1010, latency: 400, from: Dialogue.other)
    _ = self.dialogue.handle(.redrawRequested, at: 1010)
    #expect(self.dialogue.timeout(at: 1140) == again(1002))
  }

  @Test func `a switch while encoding is paused keeps the frame of the earlier source`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.schedule.isPaused = true
    #expect(self.dialogue.frame(at: 40, from: Dialogue.other) == .none)
    #expect(self.dialogue.takeNotices() == [.releaseSourceMemory, .sourceSwitched, .releaseSourceMemory])
    #expect(self.dialogue.timeout(at: 2000) == again(2000))
  }

  @Test func `another source after the slate hides it`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.timeout(at: 2000)
    _ = self.dialogue.takeNotices()
    _ = self.dialogue.frame(at: 2020, from: Dialogue.other)
    #expect(self.dialogue.takeNotices() == [.sourceSwitched, .slateHidden])
  }

  @Test func `a switch to a frame that an effect drops is still a switch`() {
    _ = self.dialogue.frame(at: 0)
    self.dialogue.isEffectDropping = true
    _ = self.dialogue.frame(at: 1000, from: Dialogue.other)
    #expect(self.dialogue.takeNotices() == [.sourceSwitched])
    self.dialogue.isEffectDropping = false
    // The cut is where the new source first becomes visible.
    #expect(self.dialogue.frame(at: 1040, from: Dialogue.other) == newest(1040, forcesKeyframe: true))
  }
}

@Suite("Video schedule: passing through")
struct VideoSchedulePassThroughTests {
  private let dialogue = Dialogue()

  @Test func `passing through begins at a keyframe`() {
    #expect(self.dialogue.sample(at: 0) == .transcode(dropsFrames: false))
    #expect(self.dialogue.sample(at: 40, isKeyframe: true) == pass(40))
    #expect(self.dialogue.sample(at: 80) == pass(80))
    #expect(self.dialogue.deadline == 2080)
  }

  private static let reasons: [(String, @Sendable (inout SampleSummary) -> Void)] = [
    ("effects", { $0.hasEffects = true }),
    ("rotation", { $0.adjustment.rotation = .right }),
    ("mirroring", { $0.adjustment.isMirrored = true }),
    ("orientation", { $0.orientation = .down }),
    ("bitrate", { $0.bitrate = 1_000_000 }),
    (
      "size",
      {
        $0.description = .h264(
          H264Description(
            sequenceParameterSet: [0x67], pictureParameterSet: [0x68], width: 128, height: 96, frameRate: 25))
      }
    ),
    ("another codec", { $0.description = .aac(AACDescription.example) }),
    ("reordering", { $0.presentationTime += .milliseconds(40) }),
  ]

  @Test(arguments: Self.reasons.indices)
  func `samples are transcoded while an adjustment applies, and until the next keyframe`(index: Int) {

    let (name, change) = Self.reasons[index]
    _ = self.dialogue.sample(at: 0, isKeyframe: true)
    #expect(self.dialogue.sample(at: 40, change) == .transcode(dropsFrames: false), "\(name)")
    #expect(self.dialogue.frame(at: 40) == newest(40), "\(name)")
    #expect(self.dialogue.sample(at: 80, isKeyframe: true, change) == .transcode(dropsFrames: false), "\(name)")
    #expect(self.dialogue.sample(at: 120) == .transcode(dropsFrames: false), "\(name)")
    guard name != "reordering" else { return }
    #expect(self.dialogue.sample(at: 160, isKeyframe: true) == pass(160), "\(name)")
  }

  @Test(arguments: [VideoSettings(frameRate: 24), VideoSettings(encoder: "h264_vaapi")])
  func `a lower frame rate or a named encoder transcodes`(settings: VideoSettings) {

    let dialogue = Dialogue(settings: settings)
    #expect(dialogue.sample(at: 0, isKeyframe: true) == .transcode(dropsFrames: false))
  }

  @Test func `a codec configuration seen to reorder is not passed through again, another one is`() {
    _ = self.dialogue.sample(at: 0, isKeyframe: true) { $0.presentationTime += .milliseconds(80) }
    #expect(self.dialogue.sample(at: 400, isKeyframe: true) == .transcode(dropsFrames: false))
    let other = CodecDescription.h264(
      H264Description(
        sequenceParameterSet: [0x67, 1], pictureParameterSet: [0x68], width: 64, height: 48, frameRate: 25))
    #expect(self.dialogue.sample(at: 800, isKeyframe: true) { $0.description = other } == pass(800))
  }

  @Test func `while encoding is paused samples are not decoded once a frame is kept`() {
    self.dialogue.schedule.isPaused = true
    #expect(self.dialogue.sample(at: 0, isKeyframe: true) == .transcode(dropsFrames: false))
    #expect(self.dialogue.frame(at: 0) == .keepNewest(timestamp: .zero))
    #expect(self.dialogue.sample(at: 40) == .closeDecoder)
    #expect(self.dialogue.takeNotices() == [.releaseSourceMemory])
    self.dialogue.schedule.isPaused = false
    #expect(self.dialogue.sample(at: 80) == .transcode(dropsFrames: false))
    #expect(self.dialogue.sample(at: 120, isKeyframe: true) == pass(120))
  }

  @Test func `decoded frames are dropped while two more samples wait`() {
    #expect(self.dialogue.sample(at: 0) { $0.backlog = 1 } == .transcode(dropsFrames: false))
    #expect(self.dialogue.sample(at: 40) { $0.backlog = 2 } == .transcode(dropsFrames: true))
  }

  @Test func `a keyframe request is passed on to the source, at most twice a second`() {
    _ = self.dialogue.sample(at: 0, isKeyframe: true)
    _ = self.dialogue.handle(.keyframeRequested, at: 100)
    #expect(self.dialogue.takeNotices() == [])
    _ = self.dialogue.sample(at: 480)
    #expect(self.dialogue.takeNotices() == [])
    _ = self.dialogue.sample(at: 500)
    #expect(self.dialogue.takeNotices() == [.requestKeyframeFromSource])
    _ = self.dialogue.handle(.keyframeRequested, at: 600)
    _ = self.dialogue.sample(at: 960)
    #expect(self.dialogue.takeNotices() == [])
    _ = self.dialogue.handle(.keyframeRequested, at: 1000)
    #expect(self.dialogue.takeNotices() == [.requestKeyframeFromSource])
    _ = self.dialogue.sample(at: 1040, isKeyframe: true)
    _ = self.dialogue.sample(at: 2000)
    #expect(self.dialogue.takeNotices() == [])
  }

  @Test func `no frame is repeated while samples are passed through`() {
    _ = self.dialogue.frame(at: 0)
    _ = self.dialogue.sample(at: 40, isKeyframe: true)
    _ = self.dialogue.handle(.redrawRequested, at: 50)
    _ = self.dialogue.handle(.keyframeRequested, at: 50)
    #expect(self.dialogue.deadline == 2040)
  }

  @Test func `a silent source that was passed through shows the slate, and passes on from its next keyframe`() {
    _ = self.dialogue.sample(at: 0, isKeyframe: true)
    #expect(self.dialogue.timeout(at: 2000) == slate(2000, forcesKeyframe: true))
    #expect(self.dialogue.sample(at: 2030) == .transcode(dropsFrames: false))
    _ = self.dialogue.takeNotices()
    #expect(self.dialogue.sample(at: 2070, isKeyframe: true) == pass(2070))
    #expect(self.dialogue.takeNotices() == [.slateHidden])
  }

  @Test func `samples of one source keep their times, and follow other output by a millisecond`() {
    _ = self.dialogue.sample(at: 0, isKeyframe: true)
    #expect(
      self.dialogue.sample(at: 40) { $0.decodeTime = Dialogue.time(-10) }
        == .transcode(dropsFrames: false))
    _ = self.dialogue.frame(at: 100)
    #expect(self.dialogue.sample(at: 140, latency: 60, isKeyframe: true) == .transcode(dropsFrames: false))
    let other = CodecDescription.h264(
      H264Description(
        sequenceParameterSet: [0x67, 1], pictureParameterSet: [0x68], width: 64, height: 48, frameRate: 25))
    // Captured at 120, after the frame of 100.
    #expect(self.dialogue.sample(at: 180, latency: 60, isKeyframe: true) { $0.description = other } == pass(120))
    // Captured at 90, before that frame: output right after it.
    #expect(self.dialogue.sample(at: 220, latency: 130) { $0.description = other } == pass(121))
    #expect(self.dialogue.sample(at: 260, latency: 60) { $0.description = other } == pass(200))
  }

  @Test func `a switch to a source of higher latency keeps times rising`() {
    _ = self.dialogue.sample(at: 1000, isKeyframe: true)
    #expect(self.dialogue.sample(at: 1040, latency: 500, isKeyframe: true, from: Dialogue.other) == pass(1001))
    #expect(self.dialogue.takeNotices() == [.sourceSwitched])
    #expect(self.dialogue.sample(at: 1080, latency: 500, from: Dialogue.other) == pass(1002))
  }

  @Test func `a switch between sources that are passed through needs a keyframe of the new one`() {
    _ = self.dialogue.frame(at: 0)
    #expect(self.dialogue.sample(at: 40, from: Dialogue.other) == .transcode(dropsFrames: false))
    #expect(self.dialogue.takeNotices() == [.releaseSourceMemory, .sourceSwitched])
    #expect(self.dialogue.sample(at: 80, isKeyframe: true, from: Dialogue.other) == pass(80))
  }

  @Test func `samples are decoded for snapshots, and until ten seconds after the last one`() {
    _ = self.dialogue.sample(at: 0, isKeyframe: true)
    #expect(self.dialogue.handle(.snapshotRequested, at: 10) == .decodeSnapshot)
    #expect(self.dialogue.handle(.snapshotRequested, at: 20) == .none)
    #expect(self.dialogue.sample(at: 40) == pass(40, decodesSnapshot: true))
    #expect(self.dialogue.sample(at: 5000) { $0.isSnapshotWanted = true } == pass(5000, decodesSnapshot: true))
    #expect(self.dialogue.sample(at: 14_999) == pass(14_999, decodesSnapshot: true))
    #expect(self.dialogue.sample(at: 15_000) == pass(15_000))
    #expect(self.dialogue.handle(.snapshotRequested, at: 15_010) == .decodeSnapshot)
  }

  @Test func `a snapshot of encoded frames needs no decoder`() {
    _ = self.dialogue.frame(at: 0)
    #expect(self.dialogue.handle(.snapshotRequested, at: 10) == .none)
  }
}

extension AACDescription {
  fileprivate static let example = AACDescription(
    audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2), samplesPerFrame: 1024)
}
