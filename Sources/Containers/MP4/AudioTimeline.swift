internal import Media

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
