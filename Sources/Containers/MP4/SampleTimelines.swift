internal import Media

/// Assigns video samples to the track's timeline at their decoding times, each lasting until the next, without drift.
///
/// If the next sample is not known, the last one has its nominal duration, and the next fragment starts at its end if that
/// is within half a duration. A late sample leaves a gap; an early sample shortens the previous one.
struct VideoTimeline {
  static let timescale: Int32 = 90_000

  /// End of the last fragment, in ticks.
  private var end: Int64?
  /// Start of the last sample, in ticks.
  private var start = Int64.min

  /// Returns the decoding time of a fragment's first sample and the duration of each sample, in ticks.
  ///
  /// - Parameters:
  ///   - samples: At least one, in decoding order.
  ///   - next: Decoding time of the sample after them, if known.
  mutating func place(
    _ samples: [EncodedSample], next: MediaTime?
  ) -> (baseDecodeTime: UInt64, durations: [UInt32]) {
    var times: [Int64] = []
    times.reserveCapacity(samples.count + 1)
    for sample in samples {
      let time = sample.decodeTime.ticks(timescale: Self.timescale)
      if let last = times.last {
        times.append(max(time, last + 1))
      } else if let end = self.end, abs(time - end) < Self.ticks(sample.duration) / 2 {
        times.append(end)
      } else {
        times.append(self.end == nil ? time : max(time, self.start + 1))
      }
    }
    let last = times[times.count - 1]
    let end =
      next?.ticks(timescale: Self.timescale)
      ?? last + Self.ticks(samples[samples.count - 1].duration)
    // A duration of 32 bits is at most 13 hours.
    times.append(min(max(end, last + 1), last + Int64(UInt32.max)))
    self.start = last
    self.end = times[times.count - 1]
    // The muxer skips samples before the clock's zero.
    return (UInt64(clamping: times[0]), zip(times, times.dropFirst()).map { UInt32(clamping: $1 - $0) })
  }

  /// Ticks of a duration, rounded to nearest: 1/30 s is 33,333,333 ns, which rounds down to 2999 instead of 3000.
  static func ticks(_ duration: MediaDuration) -> Int64 {
    let halfTick = MediaDuration(nanoseconds: 1_000_000_000 / Int64(Self.timescale) / 2)
    return (MediaTime.zero + duration + halfTick).ticks(timescale: Self.timescale)
  }
}

/// Assigns audio frames to the track's timeline: contiguous, as decoders play them, while they are within half a frame of
/// the clock. Beyond that the timeline follows the clock, with a gap or by skipping an overlapping frame.
struct AudioTimeline {
  let sampleRate: Int32
  let samplesPerFrame: Int64

  /// End of the last frame, in audio samples.
  private(set) var end: Int64?

  /// Creates the timeline of the first audio track; nil without one.
  ///
  /// - Parameter earlier: Timeline of the previous codec, to continue at its end.
  init?(_ tracks: [MP4Track], after earlier: AudioTimeline? = nil) {
    guard let track = tracks.first(where: { $0.description.kind == .audio }) else { return nil }
    self.sampleRate = Int32(clamping: track.timescale)
    self.samplesPerFrame = Int64(track.defaults.defaultDuration)
    if let earlier, let end = earlier.end {
      self.end = self.nearestSample(MediaTime(ticks: end, timescale: earlier.sampleRate))
    }
  }

  /// Returns the time of the next frame in audio samples; nil when the frame is to be skipped.
  mutating func place(_ sample: EncodedSample) -> Int64? {
    var time = self.nearestSample(sample.presentationTime)
    if let end = self.end {
      if time < end - self.samplesPerFrame / 2 { return nil }
      if time <= end + self.samplesPerFrame / 2 { time = end }
    }
    self.end = time + self.samplesPerFrame
    return time
  }

  /// Rounds to nearest, since times in nanoseconds are rounded down.
  private func nearestSample(_ time: MediaTime) -> Int64 {
    (time + MediaDuration(nanoseconds: 500_000_000 / Int64(self.sampleRate))).ticks(timescale: self.sampleRate)
  }
}
