internal import Media

/// Places pictures on the track's timeline: at their own decoding times, each lasting until the next, without drift.
///
/// Where the next picture is not known, the last one lasts as long as it says, and the fragment after begins there if it
/// was about right; from the second picture on, that one has its own times again. A picture that comes late leaves a
/// gap, one that comes early cuts the one before it short.
struct VideoTimeline {
  static let timescale: Int32 = 90_000

  /// Where the last fragment ended.
  private var end: Int64?
  /// Where its last picture began.
  private var start = Int64.min

  /// Decoding times of a fragment's pictures, at least one, and the duration of each.
  ///
  /// - Parameters:
  ///   - samples: In decoding order.
  ///   - next: The decoding time of the picture after them.
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
    // A duration has 32 bits: half a day.
    times.append(min(max(end, last + 1), last + Int64(UInt32.max)))
    self.start = last
    self.end = times[times.count - 1]
    // The muxer lets no time below zero through.
    return (UInt64(clamping: times[0]), zip(times, times.dropFirst()).map { UInt32(clamping: $1 - $0) })
  }

  /// The nearest number of ticks: 1/30 s is 33 333 333 ns, which would be 2999 rounded down.
  static func ticks(_ duration: MediaDuration) -> Int64 {
    let halfTick = MediaDuration(nanoseconds: 1_000_000_000 / Int64(Self.timescale) / 2)
    return (MediaTime.zero + duration + halfTick).ticks(timescale: Self.timescale)
  }
}

/// Places sound on the track's timeline: frames follow one another to the sample, as decoders play them, as long as that
/// agrees with the clock within half a frame. Beyond it the timeline follows the clock: over a gap, or by leaving out
/// a frame whose time has been taken.
struct AudioTimeline {
  let sampleRate: Int32
  let samplesPerFrame: Int64

  /// Where the last frame ended, in samples.
  private(set) var end: Int64?

  /// The timeline of the first sound track, if there is one, behind that of another codec.
  init?(_ tracks: [MP4Track], after earlier: AudioTimeline? = nil) {
    guard let track = tracks.first(where: { $0.description.kind == .audio }) else { return nil }
    self.sampleRate = Int32(clamping: track.timescale)
    self.samplesPerFrame = Int64(track.defaults.defaultDuration)
    if let earlier, let end = earlier.end {
      self.end = self.nearestSample(MediaTime(ticks: end, timescale: earlier.sampleRate))
    }
  }

  /// The time of the next frame, or nil when it is to be left out.
  mutating func place(_ sample: EncodedSample) -> Int64? {
    var time = self.nearestSample(sample.presentationTime)
    if let end = self.end {
      if time < end - self.samplesPerFrame / 2 { return nil }
      if time <= end + self.samplesPerFrame / 2 { time = end }
    }
    self.end = time + self.samplesPerFrame
    return time
  }

  /// Times in nanoseconds were rounded down.
  private func nearestSample(_ time: MediaTime) -> Int64 {
    (time + MediaDuration(nanoseconds: 500_000_000 / Int64(self.sampleRate))).ticks(timescale: self.sampleRate)
  }
}
