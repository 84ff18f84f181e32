import Bitstreams
import Media
import NIOCore
import Testing

@testable import Streaming

/// A schedule in virtual time, in milliseconds from 0.
final class VideoScheduleDialogue {
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

  /// A schedule at 25 frames per second unless given, with a slate after 2 s and a keyframe every 10 s.
  init(
    settings: VideoSettings = VideoSettings(), frameRate: FrameRate = 25, isSourceSilent: Bool = false,
    at time: Int64 = 0
  ) {
    self.schedule = VideoSchedule(
      VideoSchedule.Configuration(
        format: VideoFormat(width: 64, height: 48, frameRate: frameRate), passThrough: PassThroughRule(settings),
        slateDelay: .seconds(2), slateDelayAfterEnd: settings.slateDelayAfterEnd, pausedInterval: .seconds(2),
        maximumKeyframeInterval: .seconds(10)),
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

  /// Runs all timeouts before a time; those that are due at its start, then.
  ///
  /// - Returns: The times of those that encoded, with their actions.
  func timeouts(from start: Int64 = 0, before end: Int64) -> [(time: Int64, action: VideoSchedule.Action)] {
    var actions: [(Int64, VideoSchedule.Action)] = []
    // A schedule that does not move its deadline ends here too.
    for _ in 0..<1000 where self.deadline < end {
      let time = max(self.deadline, start)
      let action = self.timeout(at: time)
      if action != .none { actions.append((time, action)) }
    }
    return actions
  }

  func takeNotices() -> [VideoSchedule.Notice] {
    defer { self.notices = [] }
    return self.notices
  }

  /// Performs an action as the pipeline does, with an encoder that outputs forced keyframes and starts with one.
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

/// Actions at times in milliseconds.
extension VideoSchedule.Action {
  static func newest(_ time: Int64, forcesKeyframe: Bool = false) -> VideoSchedule.Action {
    .encodeNewest(timestamp: VideoScheduleDialogue.time(time), forcesKeyframe: forcesKeyframe)
  }

  static func again(_ time: Int64, forcesKeyframe: Bool = false) -> VideoSchedule.Action {
    .encodeLastAgain(timestamp: VideoScheduleDialogue.time(time), forcesKeyframe: forcesKeyframe)
  }

  static func slate(_ time: Int64, forcesKeyframe: Bool = false) -> VideoSchedule.Action {
    .encodeSlate(timestamp: VideoScheduleDialogue.time(time), forcesKeyframe: forcesKeyframe)
  }

  static func pass(_ time: Int64) -> VideoSchedule.Action {
    .passThrough(decodeTime: VideoScheduleDialogue.time(time), presentationTime: VideoScheduleDialogue.time(time))
  }
}
