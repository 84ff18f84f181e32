internal import Media

/// The lengths that a stream's playlists promise, chosen once from its codecs.
struct HLSTiming: Hashable, Sendable {
  /// `EXT-X-TARGETDURATION`, whole seconds: the length that segments are to have. No `EXTINF` rounds above it.
  var targetSeconds: Int64
  /// `PART-TARGET` of `EXT-X-PART-INF`: no part is longer.
  var partTarget: MediaDuration

  /// The time from one sample of the leading kind to the next, as the codecs tell it.
  var sampleInterval: MediaDuration

  /// The length that parts are to have about.
  static let partLength = MediaDuration.milliseconds(200)
  /// The longest interval that is believed: a camera that makes a picture a minute would else have parts of a minute.
  static let longestInterval = MediaDuration.seconds(8)

  /// The timing for samples that come at an interval.
  ///
  /// A part holds whole samples, lasts at most the part target and at least 85% of it (the draft's §4.4.4.9), and the
  /// timestamps of captured pictures jitter. So the part target is chosen such that a whole number of intervals lies in
  /// the middle between both bounds: 0.2 s where a number does, else a little more than the number that comes nearest to
  /// 0.2 s. At 30 pictures a second that is six pictures, 0.2 s, and a target of 0.22 s.
  ///
  /// A source slower than a picture a second has parts and segments of one picture and longer.
  init(sampleInterval: MediaDuration) {
    let interval = max(.microseconds(1), min(sampleInterval, Self.longestInterval))
    self.sampleInterval = interval
    // The most intervals that leave 4% of room to the upper bound; do they leave it to the lower one?
    let most = Self.partLength.nanoseconds * 96 / 100 / interval.nanoseconds
    if most * interval.nanoseconds >= Self.partLength.nanoseconds * 85 / 100 * 104 / 100 {
      self.partTarget = Self.partLength
    } else {
      let count = max(1, (Self.partLength.nanoseconds + interval.nanoseconds / 2) / interval.nanoseconds)
      let step = MediaDuration.milliseconds(5).nanoseconds
      let steps = (count * interval.nanoseconds * 108 / 100 + step - 1) / step
      self.partTarget = MediaDuration(nanoseconds: steps * step)
    }
    let second = MediaDuration.seconds(1).nanoseconds
    self.targetSeconds = max(1, (self.partTarget.nanoseconds + second - 1) / second)
  }

  /// The timing for a stream: its pictures lead, or its sound where there are none.
  init(_ descriptions: [CodecDescription]) {
    var interval = Self.partLength
    for description in descriptions.reversed() {
      switch description {
      case .h264(let video): interval = video.frameRate.frameInterval
      case .aac(let audio):
        guard descriptions.allSatisfy({ $0.kind == .audio }) else { continue }
        interval = .ticks(Int64(audio.samplesPerFrame), timescale: Int32(clamping: max(1, audio.format.sampleRate)))
      }
    }
    self.init(sampleInterval: interval)
  }

  /// Raises the target duration to that of a segment which is longer, since its source gives keyframes when it likes; false
  /// when the segment is not longer.
  mutating func raise(to duration: MediaDuration) -> Bool {
    let seconds = (duration + .milliseconds(500)).nanoseconds / MediaDuration.seconds(1).nanoseconds
    guard seconds > self.targetSeconds else { return false }
    self.targetSeconds = seconds
    return true
  }

  /// `EXT-X-TARGETDURATION` as a span.
  var target: MediaDuration { .seconds(self.targetSeconds) }

  /// The least length of a part that is neither the last of its segment nor independent: 85% of the part target,
  /// rounded up to a microsecond.
  var shortestPart: MediaDuration {
    MediaDuration(nanoseconds: (self.partTarget.nanoseconds * 85 / 100 + 999) / 1000 * 1000)
  }

  /// The length from which on a keyframe ends a segment.
  var shortestSegment: MediaDuration { self.target / 2 }

  /// The length that no segment reaches whose `EXTINF` does not round above the target.
  var longestSegment: MediaDuration { self.target + .milliseconds(500) }

  /// `HOLD-BACK`: three times the target duration (§4.4.3.8).
  var holdBack: MediaDuration { self.target * 3 }

  /// `PART-HOLD-BACK`: three times the part target (§4.4.3.8).
  var partHoldBack: MediaDuration { self.partTarget * 3 }

  /// `CAN-SKIP-UNTIL`: six times the target duration (§4.4.3.8).
  var skipBoundary: MediaDuration { self.target * 6 }

  /// How far `_HLS_part` may lie beyond the last part: the Advance Part Limit of §6.2.5.2.
  var advancePartLimit: Int {
    let second = MediaDuration.seconds(1).nanoseconds
    let target = self.partTarget.nanoseconds
    return target >= second ? 3 : Int((3 * second + target - 1) / target)
  }

  /// The length at which a segment ends without a keyframe.
  var longestWithoutKeyframe: MediaDuration { max(self.target * 10, .seconds(20)) }

  /// How long a request is held while no keyframe comes that was asked for: sources that are passed through have their
  /// own, as far as 15 s apart, and a playlist begins with two segments.
  static let longestWaitForKeyframes = MediaDuration.seconds(45)

  /// How long a request is held: three target durations (§6.2.5.2).
  var longestWait: MediaDuration { self.target * 3 }
}
