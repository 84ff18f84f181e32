internal import Media

/// The program clock reference of a multiplex, ISO/IEC 13818-1 §2.4.2.2: it follows the decoding times of both tracks,
/// always forward, in steps of at most 40 ms.
///
/// The clock is where the slower track is, and at most ``maximumLag`` behind the newest sample, so that a track that
/// pauses does not hold it. Timestamps are written ``delay`` later than they are. So the first clock value of a stream is
/// not below zero, a decoder has that long to take in a picture before it must be shown, and of two tracks one may be up
/// to 800 ms late. The two together stay below the second that the standard lets data wait (§2.4.2.6).
struct ProgramClock {
  /// How far timestamps lie ahead of the clock at which their sample is sent, if both tracks are in step: 300 ms.
  static let delay = MediaDuration.milliseconds(300)
  /// How long the clock waits for a track that is late.
  static let maximumLag: Int64 = 500 * 27_000
  /// The largest step, DVB's recommendation (ETSI TS 101 154 §4.1.5.3); the standard's own limit is 100 ms.
  static let maximumInterval: Int64 = 40 * 27_000
  /// A longer time without samples is a gap in the clock too.
  static let maximumGap: Int64 = 1000 * 27_000
  /// Timestamps have 33 bits.
  static let timestampMask: UInt64 = (1 << 33) - 1

  /// The value sent last, in ticks of 27 MHz.
  private var last: Int64?
  /// The newest decoding time, in ticks of 27 MHz.
  private var newest = Int64.min
  /// Where the last picture ends, in ticks of 27 MHz.
  private var videoEnd: Int64?
  /// Where the last frame of sound ends, in ticks of 27 MHz.
  private var audioEnd: Int64?

  /// Takes note of a sample that is about to be sent, or too late: the clock then waits for its track.
  mutating func advance(to sample: EncodedSample) {
    self.newest = max(self.newest, sample.decodeTime.ticks(timescale: 27_000_000))
    let end = max(sample.decodeTime, sample.decodeTime + sample.duration).ticks(timescale: 27_000_000)
    switch sample.kind {
    case .video: self.videoEnd = max(end, self.videoEnd ?? end)
    case .audio: self.audioEnd = max(end, self.audioEnd ?? end)
    }
  }

  /// Forgets where the tracks are: others may follow.
  mutating func forgetTracks() {
    self.videoEnd = nil
    self.audioEnd = nil
  }

  /// Whether the timestamp of the sample that was noted last lies before the clock: a decoder that keeps to the clock
  /// could not show it.
  func hasPassed(_ sample: EncodedSample) -> Bool {
    guard let last = self.last else { return false }
    let timestamp = min(sample.presentationTime, sample.decodeTime) + Self.delay
    // In 90 kHz, of which a tick is 300 of the clock's; one more lets values be sent in between. No overflow: 2⁶³
    // nanoseconds are 2⁵⁸ ticks.
    return timestamp.ticks(timescale: 90_000) * 300 < max(self.target, last) + 300
  }

  /// A value that must be sent before anything else, so that no step is too large; nil when none must.
  ///
  /// Called again until it is nil.
  ///
  /// - Parameter isCarried: Whether the sample carries a value itself, so that neither the first one nor one behind a gap
  ///   must be sent before it.
  mutating func overdueValue(isCarried: Bool) -> Int64? {
    guard let last = self.last else { return isCarried ? nil : self.nextValue() }
    guard self.target > last else { return nil }
    // No overflow: 2⁶³ nanoseconds are 2⁵⁸ ticks.
    let step = self.target - last
    guard step > Self.maximumInterval else { return nil }
    guard step <= Self.maximumGap else { return isCarried ? nil : self.nextValue() }
    self.last = last + Self.maximumInterval
    return self.last
  }

  /// The value to send now, larger than the one before.
  mutating func nextValue() -> Int64 {
    let value = max(self.target, self.last.map { $0 + 1 } ?? self.target)
    self.last = value
    return value
  }

  /// A timestamp of 33 bits at 90 kHz.
  static func timestamp(_ time: MediaTime) -> UInt64 {
    UInt64(bitPattern: (time + Self.delay).ticks(timescale: 90_000)) & Self.timestampMask
  }

  /// The value for now, once there is a sample; behind it when a track comes that is late.
  private var target: Int64 {
    let slower = min(self.videoEnd ?? self.newest, self.audioEnd ?? self.newest, self.newest)
    return max(slower, self.newest - Self.maximumLag)
  }
}
