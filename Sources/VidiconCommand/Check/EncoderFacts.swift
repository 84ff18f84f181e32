import Media

/// Facts about the encoders of a configuration: whether each opens, and how fast all of them are together.
struct EncoderFacts: Sendable {
  /// The encoder of a stream.
  struct Encoder: Sendable {
    /// Name of the stream.
    var stream: String
    /// Format in words, such as `1280x720 at 30 fps with libx264`.
    var format: String
    /// Whether the source may compress its video, which then needs no encoder.
    var mayPassThrough = false
    /// Duration of the encoded video divided by the time that it took while all others encoded too; nil where it did not start.
    var result: Result<Double, VidiconError>?
  }

  var encoders: [Encoder]
  /// Whether another vidicon runs, whose encoders were not ended for the measurement.
  var isMeasuredBeside = false

  /// Factor below which noise of a camera, effects or other programs make an encoder too slow.
  private static let comfortableFactor = 1.5

  /// One finding for each stream.
  var findings: [CheckFinding] { self.encoders.map(self.finding) }

  private func finding(_ encoder: Encoder) -> CheckFinding {
    let subject = "encoder of \(encoder.stream)"
    switch encoder.result {
    case .failure(let error)?: return CheckFinding(error, subject: subject)
    case nil: return CheckFinding(.noThread(encoder.stream), subject: subject)
    case .success(let factor)?:
      let speed = "\(encoder.format): \(Self.text(factor)) times real time"
      let advice = CheckFinding.Remedy.advice(
        "give a smaller --size or --fps, such as --size 960x540 --fps 15, or an encoder of the graphics card with --encoder"
      )
      guard factor < Self.comfortableFactor else { return .ok(subject, speed) }
      if self.isMeasuredBeside { return .ok(subject, "\(speed) beside the vidicon that runs; end it to measure alone") }
      guard factor < 1 else {
        return .warning(subject, "\(speed), which leaves little for effects and a noisy camera", advice)
      }
      if encoder.mayPassThrough {
        return .warning(subject, "\(speed), so that frames are dropped where the source is not passed through", advice)
      }
      return .fault(subject, "\(speed), so that frames are dropped and video stutters", advice)
    }
  }

  /// The factor with one decimal, rounded down, so that one below 1 is not shown as 1.
  static func text(_ factor: Double) -> String {
    let tenths = Int(min(factor, 10_000) * 10)
    return "\(tenths / 10).\(tenths % 10)"
  }
}
