internal import Media

/// Where audio frames go in a part: one after the other to the sample, as players play them, as long as that agrees
/// with the clock within half a frame.
///
/// A frame whose time has been taken is left out. Where audio is missing, the next frame goes where the clock has it.
struct AudioPlacement {
  private let sampleRate: Int32
  private let samplesPerFrame: Int64
  /// Where the next frame goes, in samples.
  private var position: Int64 = 0

  init(_ description: AACDescription) {
    self.sampleRate = Int32(clamping: max(1, description.format.sampleRate))
    self.samplesPerFrame = Int64(max(1, description.samplesPerFrame))
  }

  /// Half the time of a frame.
  var halfFrame: MediaDuration {
    .ticks(self.samplesPerFrame, timescale: self.sampleRate) / 2
  }

  /// Where the last frame ends.
  var end: MediaTime {
    MediaTime(ticks: self.position, timescale: self.sampleRate)
  }

  /// Begins a part, at whose start audio is expected.
  mutating func restart() {
    self.position = 0
  }

  /// The place of the frame that the clock has at a time; nil when it is left out.
  mutating func place(_ time: MediaTime) -> MediaTime? {
    let distance = time - self.end
    if distance < .zero - self.halfFrame { return nil }
    if distance > self.halfFrame { self.position = time.ticks(timescale: self.sampleRate) }
    defer { self.position += self.samplesPerFrame }
    return self.end
  }
}
