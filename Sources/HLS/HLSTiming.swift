internal import Media

/// Durations promised by a stream's playlists, derived from its codecs.
struct HLSTiming: Hashable, Sendable {
  /// `EXT-X-TARGETDURATION` in whole seconds: intended duration of segments. No `EXTINF` rounds to more.
  var targetSeconds: Int64
  /// `PART-TARGET` of `EXT-X-PART-INF`: maximum duration of a part.
  var partTarget: MediaDuration

  /// Nominal time between two samples of the leading kind.
  var sampleInterval: MediaDuration

  /// Intended duration of parts.
  static let partLength = MediaDuration.milliseconds(200)
  /// Maximum sample interval: a camera with one frame per minute would otherwise have parts of a minute.
  static let maximumInterval = MediaDuration.seconds(8)

  /// Derives the timing from the sample interval.
  ///
  /// A part contains whole samples and lasts between 85% and 100% of the part target (draft-pantos-hls-rfc8216bis §4.4.4.9),
  /// while timestamps of captured frames jitter. The part target is therefore chosen so that a whole number of intervals
  /// lies well between both bounds: 0.2 s if one does, else slightly more than the multiple nearest to 0.2 s. At 30 frames
  /// per second a part is six frames, 0.2 s, with a part target of 0.22 s.
  ///
  /// Below one frame per second, parts and segments are one frame or longer.
  init(sampleInterval: MediaDuration) {
    let interval = max(.microseconds(1), min(sampleInterval, Self.maximumInterval))
    self.sampleInterval = interval
    // Maximum number of intervals with a margin of 4% to the upper bound; checked for the same margin to the lower one.
    let maximumCount = Self.partLength.nanoseconds * 96 / 100 / interval.nanoseconds
    if maximumCount * interval.nanoseconds >= Self.partLength.nanoseconds * 85 / 100 * 104 / 100 {
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

  /// Derives the timing of a stream from its video, or from its audio without video.
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

  /// Raises the target duration to a longer segment of a source with rare keyframes; only before the first playlist.
  ///
  /// - Returns: false when the segment is not longer.
  mutating func raise(to duration: MediaDuration) -> Bool {
    let seconds = (duration + .milliseconds(500)).nanoseconds / MediaDuration.seconds(1).nanoseconds
    guard seconds > self.targetSeconds else { return false }
    self.targetSeconds = seconds
    return true
  }

  /// `EXT-X-TARGETDURATION` as a duration.
  var target: MediaDuration { .seconds(self.targetSeconds) }

  /// Minimum duration of a part that is neither the last of its segment nor independent: 85% of the part target, rounded up
  /// to a microsecond.
  var minimumPart: MediaDuration {
    MediaDuration(nanoseconds: (self.partTarget.nanoseconds * 85 / 100 + 999) / 1000 * 1000)
  }

  /// Minimum duration after which a keyframe ends a segment.
  var minimumSegment: MediaDuration { self.target / 2 }

  /// Exclusive upper bound of segment durations whose `EXTINF` does not round above the target duration.
  var maximumSegment: MediaDuration { self.target + .milliseconds(500) }

  /// `HOLD-BACK`: three times the target duration (§4.4.3.8).
  var holdBack: MediaDuration { self.target * 3 }

  /// `PART-HOLD-BACK`: three times the part target (§4.4.3.8).
  var partHoldBack: MediaDuration { self.partTarget * 3 }

  /// Timing of the other renditions, whose parts are ``joinedPartCount`` of the main one's: players that count at least 50 ms
  /// for each part, as hls.js does, measure too little with the small parts of a small rendition to leave it again.
  var joined: HLSTiming {
    var timing = self
    timing.partTarget = self.partTarget * Int64(self.joinedPartCount)
    return timing
  }

  /// Number of parts of the main rendition in one part of another; they last no longer than a segment.
  var joinedPartCount: Int { max(1, min(3, Int(self.target.nanoseconds / self.partTarget.nanoseconds))) }

  /// `CAN-SKIP-UNTIL`: six times the target duration (§4.4.3.8).
  var skipBoundary: MediaDuration { self.target * 6 }

  /// Advance Part Limit of §6.2.5.2: maximum distance of `_HLS_part` from the last part.
  var advancePartLimit: Int {
    let second = MediaDuration.seconds(1).nanoseconds
    let target = self.partTarget.nanoseconds
    return target >= second ? 3 : Int((3 * second + target - 1) / target)
  }

  /// Duration at which a segment ends without a keyframe while no playlist has promised a target duration, which it becomes.
  var maximumWithoutKeyframe: MediaDuration { max(self.target * 10, .seconds(20)) }

  /// Maximum time that audio waits for a keyframe while video frames arrive: passed-through sources may ignore requests, and
  /// have keyframes 15 s apart.
  var keyframeWait: MediaDuration { max(self.target * 2, .seconds(15)) }

  /// Request timeout while a requested keyframe is missing: a playlist starts with two segments.
  var keyframeRequestTimeout: MediaDuration { self.keyframeWait * 3 }

  /// Number of segments at the start of a playlist, where three or more are configured: two, if they are long.
  var startSegments: Int { self.targetSeconds >= 4 ? 2 : .max }

  /// Cache lifetime of segments and parts: viewers at the live edge request the same one within a target duration or two, late
  /// ones within their playlist.
  var mediaLifetime: MediaDuration { self.target * 6 }

  /// Request timeout: three target durations (§6.2.5.2).
  var requestTimeout: MediaDuration { self.target * 3 }
}
