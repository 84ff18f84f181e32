import Media
import Testing

@testable import Streaming

@Suite("Video schedule: passing through")
struct VideoSchedulePassThroughTests {
  private let dialogue = VideoScheduleDialogue()

  @Test func `passing through begins at a keyframe`() {
    #expect(self.dialogue.sample(at: 0) == .transcode(dropsFrames: false))
    #expect(self.dialogue.sample(at: 40, isKeyframe: true) == .pass(40))
    #expect(self.dialogue.sample(at: 80) == .pass(80))
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
    #expect(self.dialogue.frame(at: 40) == .newest(40), "\(name)")
    #expect(self.dialogue.sample(at: 80, isKeyframe: true, change) == .transcode(dropsFrames: false), "\(name)")
    #expect(self.dialogue.sample(at: 120) == .transcode(dropsFrames: false), "\(name)")
    guard name != "reordering" else { return }
    #expect(self.dialogue.sample(at: 160, isKeyframe: true) == .pass(160), "\(name)")
  }

  /// Sequence parameter sets of 64 × 48 pixels that x264 wrote for ffmpeg 5.1, `-profile:v baseline -vf setsar=…`, with the ratio of
  /// a pixel's sides.
  private static let parameterSets: [(pixel: String, bytes: [UInt8])] = [
    (
      "1:1",
      [
        0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x11, 0xEC, 0x04, 0x40, 0x00, 0x00, 0x03, 0x00, 0x40, 0x00, 0x00, 0x0C, 0x83,
        0xC4, 0x89, 0xA8,
      ]
    ),
    (
      "64:45",
      [
        0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x11, 0xEF, 0xFC, 0x01, 0x00, 0x00, 0xB4, 0x40, 0x00, 0x00, 0x03, 0x00, 0x40,
        0x00, 0x00, 0x0C, 0x83, 0xC4, 0x89, 0xA8,
      ]
    ),
  ]

  @Test(arguments: Self.parameterSets.indices, [VideoSettings.PassThrough.auto, .on])
  func `pixels that are not square are encoded again, although the number of columns and rows fits`(
    index: Int, mode: VideoSettings.PassThrough
  ) {
    let (pixel, bytes) = Self.parameterSets[index]
    let description = CodecDescription.h264(
      H264Description(
        sequenceParameterSet: bytes, pictureParameterSet: [0x68], width: 64, height: 48, frameRate: 25))
    let dialogue = VideoScheduleDialogue(settings: VideoSettings(passThrough: mode))
    for time in [0, 40, 80] as [Int64] {
      let action = dialogue.sample(at: time, isKeyframe: time != 40) { $0.description = description }
      #expect(action == (pixel == "1:1" ? .pass(time) : .transcode(dropsFrames: false)), "\(pixel), \(time)")
    }
  }

  @Test func `a source is not passed through again after a switch away from it`() {
    _ = self.dialogue.sample(at: 0, isKeyframe: true)
    #expect(
      self.dialogue.sample(at: 40, isKeyframe: true, from: VideoScheduleDialogue.other)
        == .transcode(dropsFrames: false))
    #expect(self.dialogue.sample(at: 80, isKeyframe: true) == .transcode(dropsFrames: false))
  }

  @Test func `a source that follows frames is not passed through, unless asked for`() {
    _ = self.dialogue.frame(at: 0)
    let second = VideoScheduleDialogue.other
    #expect(self.dialogue.sample(at: 40, isKeyframe: true, from: second) == .transcode(dropsFrames: false))
    let dialogue = VideoScheduleDialogue(settings: VideoSettings(passThrough: .on))
    _ = dialogue.frame(at: 0)
    #expect(dialogue.sample(at: 40, isKeyframe: true, from: second) == .pass(40))
  }

  @Test func `a first source with effects is encoded for good, unless asked for`() {
    for (mode, isPassed) in [(VideoSettings.PassThrough.auto, false), (.on, true)] {
      let dialogue = VideoScheduleDialogue(settings: VideoSettings(passThrough: mode))
      #expect(dialogue.sample(at: 0, isKeyframe: true) { $0.hasEffects = true } == .transcode(dropsFrames: false))
      let next = dialogue.sample(at: 40, isKeyframe: true)
      #expect(next == (isPassed ? .pass(40) : .transcode(dropsFrames: false)), "\(mode)")
    }
  }

  @Test(arguments: [VideoSettings.PassThrough.auto, .on])
  func `a source whose keyframes are rare and do not come on request is transcoded`(mode: VideoSettings.PassThrough) {

    let dialogue = VideoScheduleDialogue(settings: VideoSettings(passThrough: mode))
    _ = dialogue.sample(at: 0, isKeyframe: true)
    // Without a viewer that waits for a keyframe, the interval does not matter.
    #expect(dialogue.sample(at: 9000) == .pass(9000))
    _ = dialogue.handle(.keyframeRequested, at: 9010)
    #expect(dialogue.sample(at: 9050) == .pass(9050))
    #expect(dialogue.sample(at: 10_000) == .pass(10_000))
    let late = dialogue.sample(at: 10_040)
    #expect(late == (mode == .on ? .pass(10_040) : .transcode(dropsFrames: false)))
    let next = dialogue.sample(at: 11_000, isKeyframe: true)
    #expect(next == (mode == .on ? .pass(11_000) : .transcode(dropsFrames: false)))
  }

  @Test func `a source that meets keyframe requests is passed through however rare its own keyframes are`() {
    _ = self.dialogue.sample(at: 0, isKeyframe: true)
    for start in [9000, 20_000] as [Int64] {
      _ = self.dialogue.handle(.keyframeRequested, at: start)
      #expect(self.dialogue.sample(at: start + 500) == .pass(start + 500))
      #expect(self.dialogue.sample(at: start + 960, isKeyframe: true) == .pass(start + 960))
      #expect(self.dialogue.sample(at: start + 3000) == .pass(start + 3000))
    }
  }

  @Test(arguments: [
    VideoSettings(frameRate: 24), VideoSettings(encoder: "h264_vaapi"), VideoSettings(passThrough: .off),
  ])
  func `a lower frame rate, a named encoder or the setting transcodes`(settings: VideoSettings) {

    let dialogue = VideoScheduleDialogue(settings: settings)
    #expect(dialogue.sample(at: 0, isKeyframe: true) == .transcode(dropsFrames: false))
  }

  @Test func `a codec configuration seen to reorder is not passed through again, another one is`() {
    let dialogue = VideoScheduleDialogue(settings: VideoSettings(passThrough: .on))
    _ = dialogue.sample(at: 0, isKeyframe: true) { $0.presentationTime += .milliseconds(80) }
    #expect(dialogue.sample(at: 400, isKeyframe: true) == .transcode(dropsFrames: false))
    let other = CodecDescription.h264(
      H264Description(
        sequenceParameterSet: [0x67, 1], pictureParameterSet: [0x68], width: 64, height: 48, frameRate: 25))
    #expect(dialogue.sample(at: 800, isKeyframe: true) { $0.description = other } == .pass(800))
  }

  @Test func `while encoding is paused samples are not decoded once a frame is kept`() {
    self.dialogue.schedule.isPaused = true
    #expect(self.dialogue.sample(at: 0, isKeyframe: true) == .transcode(dropsFrames: false))
    #expect(self.dialogue.frame(at: 0) == .keepNewest(timestamp: .zero))
    #expect(self.dialogue.sample(at: 40) == .closeDecoder)
    #expect(self.dialogue.takeNotices() == [.releaseSourceMemory])
    self.dialogue.schedule.isPaused = false
    #expect(self.dialogue.sample(at: 80) == .transcode(dropsFrames: false))
    #expect(self.dialogue.sample(at: 120, isKeyframe: true) == .pass(120))
  }

  @Test func `a burst of four samples loses no frame, a longer one all that two more wait for`() {
    for backlog in [3, 2, 1, 0] {
      #expect(
        self.dialogue.sample(at: Int64(40 * (3 - backlog))) { $0.backlog = backlog } == .transcode(dropsFrames: false))
    }
    for (number, (backlog, isDropped)) in [(4, true), (3, true), (2, true), (1, false), (0, false)].enumerated() {
      #expect(
        self.dialogue.sample(at: Int64(200 + 40 * number)) { $0.backlog = backlog }
          == .transcode(dropsFrames: isDropped), "\(backlog)")
    }
  }

  @Test func `after a drop two samples may not wait until thirty have come in time`() {
    func drops(_ backlog: Int, at time: Int64) -> Bool {
      self.dialogue.sample(at: time) { $0.backlog = backlog } == .transcode(dropsFrames: true)
    }
    #expect(drops(4, at: 0))
    for number in 1...29 as ClosedRange<Int64> { #expect(!drops(0, at: number * 40)) }
    #expect(drops(2, at: 30 * 40))
    for number in 31...60 as ClosedRange<Int64> { #expect(!drops(0, at: number * 40)) }
    #expect(!drops(2, at: 61 * 40))
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
    let dialogue = VideoScheduleDialogue(settings: VideoSettings(passThrough: .on))
    _ = dialogue.frame(at: 0)
    _ = dialogue.sample(at: 40, isKeyframe: true)
    _ = dialogue.handle(.redrawRequested, at: 50)
    _ = dialogue.handle(.keyframeRequested, at: 50)
    #expect(dialogue.timeouts(before: 1_540).isEmpty)
  }

  @Test func `a silent source that was passed through shows the slate, and passes on from its next keyframe`() {
    _ = self.dialogue.sample(at: 0, isKeyframe: true)
    #expect(self.dialogue.timeout(at: 2000) == .slate(2000, forcesKeyframe: true))
    #expect(self.dialogue.sample(at: 2030) == .transcode(dropsFrames: false))
    _ = self.dialogue.takeNotices()
    #expect(self.dialogue.sample(at: 2070, isKeyframe: true) == .pass(2070))
    #expect(self.dialogue.takeNotices() == [.slateHidden])
  }

  @Test func `samples of one source keep their times, and follow other output by a millisecond`() {
    _ = self.dialogue.sample(at: 0, isKeyframe: true)
    #expect(
      self.dialogue.sample(at: 40) { $0.decodeTime = VideoScheduleDialogue.time(-10) }
        == .transcode(dropsFrames: false))
    _ = self.dialogue.frame(at: 100)
    #expect(self.dialogue.sample(at: 140, latency: 60, isKeyframe: true) == .transcode(dropsFrames: false))
    let other = CodecDescription.h264(
      H264Description(
        sequenceParameterSet: [0x67, 1], pictureParameterSet: [0x68], width: 64, height: 48, frameRate: 25))
    // Captured at 120, after the frame of 100.
    #expect(self.dialogue.sample(at: 180, latency: 60, isKeyframe: true) { $0.description = other } == .pass(120))
    // Captured at 90, before that frame: output right after it.
    #expect(self.dialogue.sample(at: 220, latency: 130) { $0.description = other } == .pass(121))
    #expect(self.dialogue.sample(at: 260, latency: 60) { $0.description = other } == .pass(200))
  }

  @Test func `timestamps keep increasing across a switch to a source of higher latency`() {
    let dialogue = VideoScheduleDialogue(settings: VideoSettings(passThrough: .on))
    _ = dialogue.sample(at: 1000, isKeyframe: true)
    #expect(
      dialogue.sample(at: 1040, latency: 500, isKeyframe: true, from: VideoScheduleDialogue.other) == .pass(1040))
    #expect(dialogue.takeNotices() == [.sourceSwitched])
    // Half of 40 ms: the offset of 500 ms decays in a second.
    #expect(dialogue.sample(at: 1080, latency: 500, from: VideoScheduleDialogue.other) == .pass(1060))
    #expect(dialogue.sample(at: 2040, latency: 500, from: VideoScheduleDialogue.other) == .pass(1540))
    #expect(dialogue.sample(at: 2080, latency: 500, from: VideoScheduleDialogue.other) == .pass(1580))
  }

  @Test func `a bitrate that equals the default is no reason to transcode`() {
    let dialogue = VideoScheduleDialogue(settings: VideoSettings(bitrate: 2_300_000))
    #expect(dialogue.sample(at: 0, isKeyframe: true) == .pass(0))
    #expect(dialogue.sample(at: 40) { $0.bitrate = 2_300_000 } == .pass(40))
    #expect(dialogue.sample(at: 80) { $0.bitrate = 2_300_001 } == .transcode(dropsFrames: false))
  }

  @Test func `a switch between sources that are passed through needs a keyframe of the new one`() {
    let dialogue = VideoScheduleDialogue(settings: VideoSettings(passThrough: .on))
    _ = dialogue.frame(at: 0)
    #expect(dialogue.sample(at: 40, from: VideoScheduleDialogue.other) == .transcode(dropsFrames: false))
    #expect(dialogue.takeNotices() == [.releaseSourceMemory, .sourceSwitched, .requestKeyframeFromSource])
    #expect(dialogue.sample(at: 80, isKeyframe: true, from: VideoScheduleDialogue.other) == .pass(80))
  }

  @Test func `a snapshot of encoded frames needs no decoder, and one of access units that are passed through does`() {
    _ = self.dialogue.sample(at: 0, isKeyframe: true)
    let isPassing = self.dialogue.schedule.isPassing
    _ = self.dialogue.frame(at: 40)
    let isStillPassing = self.dialogue.schedule.isPassing
    #expect(isPassing && !isStillPassing)
  }
}

extension AACDescription {
  fileprivate static let example = AACDescription(
    audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2), samplesPerFrame: 1024)
}
