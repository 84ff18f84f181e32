internal import Media

/// Positions of audio frames in a part: contiguous to the sample, as players render them, while that agrees with the
/// clock within half a frame.
///
/// A frame that overlaps its predecessor by half its duration or more is dropped. After missing audio, the next frame
/// is placed by its timestamp.
struct AudioPlacement {
  private let sampleRate: Int32
  private let samplesPerFrame: Int64
  /// Position of the next frame, in samples.
  private var position: Int64 = 0

  init(_ description: AACDescription) {
    self.sampleRate = Int32(clamping: max(1, description.format.sampleRate))
    self.samplesPerFrame = Int64(max(1, description.samplesPerFrame))
  }

  /// Half the duration of a frame.
  var halfFrame: MediaDuration {
    .ticks(self.samplesPerFrame, timescale: self.sampleRate) / 2
  }

  /// End time of the last frame.
  var end: MediaTime {
    MediaTime(ticks: self.position, timescale: self.sampleRate)
  }

  /// Begins a part whose audio is expected at the part's start.
  mutating func restart() {
    self.position = 0
  }

  /// Begins another part at a time of this one, the start of an audio frame or of a video frame.
  mutating func restart(at time: MediaTime) {
    self.position -= Self.samples(until: time, sampleRate: self.sampleRate)
  }

  /// Number of samples from a part's start to a time; times that were rounded down from samples give these again.
  static func samples(until time: MediaTime, sampleRate: Int32) -> Int64 {
    (time + .microseconds(1)).ticks(timescale: sampleRate)
  }

  /// Start of another part in this one's audio: the audio frame that begins within half a frame of the start of its video, or
  /// else the sample at that time.
  ///
  /// - Parameter first: Start of the first audio frame of the other part, if it has one yet.
  func start(of first: MediaTime?, at cut: MediaTime) -> MediaTime {
    if let first, first - cut <= self.halfFrame, cut - first <= self.halfFrame { return first }
    return MediaTime(ticks: Self.samples(until: cut, sampleRate: self.sampleRate), timescale: self.sampleRate)
  }

  /// Returns the position of a frame captured at `time`, or nil when the frame is dropped.
  mutating func place(_ time: MediaTime) -> MediaTime? {
    let distance = time - self.end
    if distance < .zero - self.halfFrame { return nil }
    if distance > self.halfFrame { self.position = time.ticks(timescale: self.sampleRate) }
    defer { self.position += self.samplesPerFrame }
    return self.end
  }
}
