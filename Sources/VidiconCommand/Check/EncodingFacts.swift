import Capture
import Media
import Streaming
internal import Threading

/// Facts about the video of streams that run: whether effects and encoder keep up with the source, from the counters of each stream.
///
/// A program that serves has no encoder to spare: a measurement as of ``EncoderFacts`` would take frames from viewers, and see the load of
/// the streams rather than the machine.
struct EncodingFacts: Sendable {
  /// Work of a stream within a time.
  struct Work: Equatable, Sendable {
    /// Name of the stream.
    var stream: String
    /// Format in words, such as `1280x720 at 30 fps with libx264`.
    var format: String
    /// Frames per second.
    var frameRate: Double
    /// Frames that were encoded.
    var encoded = 0
    /// Frames that were passed through as the source compresses them.
    var passedThrough = 0
    /// Frames that were dropped because those before were not finished.
    var dropped = 0
    /// Time that effects and encoder have taken for one frame, on average.
    var timePerFrame = MediaDuration.zero
  }

  var works: [Work]

  /// Duration of encoded video divided by the time that it takes, below which a busier moment drops frames.
  private static let comfortableFactor = 1.5
  /// Share of frames dropped from which video stutters all the time.
  private static let badShare = 0.05

  /// One finding for each stream.
  var findings: [CheckFinding] { self.works.map(self.finding) }

  private func finding(_ work: Work) -> CheckFinding {
    let subject = "encoder of \(work.stream)"
    guard work.encoded + work.dropped > 0 else {
      return .ok(subject, work.passedThrough > 0 ? "the video of the source is passed through" : "no frame was due")
    }
    let advice = CheckFinding.Remedy.advice(
      "give a smaller --size or --fps, such as --size 960x540 --fps 15, fewer effects or renditions, or end other programs"
    )
    let total = work.encoded + work.dropped
    if work.dropped > 0 {
      let text = "\(work.format): \(work.dropped) of \(total) frames were just dropped"
      guard Double(work.dropped) >= Self.badShare * Double(total) else { return .warning(subject, text, advice) }
      return .fault(subject, "\(text), so that video stutters", advice)
    }
    let factor = 1 / max(work.frameRate * work.timePerFrame.seconds, 1e-4)
    let text = "\(work.format): \(EncoderFacts.text(factor)) times real time while serving, and no frame dropped"
    guard factor < Self.comfortableFactor else { return .ok(subject, text) }
    return .warning(subject, "\(text), which leaves little for a busier moment", advice)
  }
}

extension EncodingFacts {
  /// Watches streams for a while; blocks meanwhile.
  init(_ streams: [LiveStream], within duration: MediaDuration = .seconds(2)) {
    let before = streams.map(\.statistics)
    _ = StopSignal().wait(until: StreamClock.system.now() + duration)
    self.init(works: zip(streams, before).map { Work($0, since: $1) })
  }
}

extension EncodingFacts.Work {
  /// The work of a stream since earlier counters of it.
  init(_ stream: LiveStream, since before: StreamStatistics) {
    let now = stream.statistics
    let settings = stream.videoSettings
    var size = "\(settings.width ?? 1280)x\(settings.height ?? 720)"
    var rate = settings.frameRate ?? 30
    for case .h264(let video) in stream.descriptions {
      size = "\(video.width)x\(video.height)"
      rate = video.frameRate
    }
    self.init(
      stream: stream.name, format: "\(size) at \(rate) fps with \(settings.encoder)",
      frameRate: rate.framesPerSecond)
    self.encoded = now.framesEncoded - before.framesEncoded
    self.passedThrough = now.framesPassedThrough - before.framesPassedThrough
    self.dropped = now.framesDropped[.late, default: 0] - before.framesDropped[.late, default: 0]
    let time = (now.videoEncodeTime - before.videoEncodeTime) + (now.effectTime - before.effectTime)
    self.timePerFrame = time / Int64(max(1, self.encoded))
  }
}
