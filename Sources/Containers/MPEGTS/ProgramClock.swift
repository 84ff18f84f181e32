internal import Media

/// Program clock reference (PCR) of a multiplex, ISO/IEC 13818-1 §2.4.2.2: follows the decoding times of both tracks,
/// strictly increasing, in steps of at most 40 ms.
///
/// The clock is at the end of the slower track, and at most ``maximumLag`` behind the newest sample, so that a paused track
/// does not stop it. Timestamps are written ``delay`` later than they are: the first clock value is not negative, a decoder
/// has that long to receive a frame, and one track may be 800 ms behind the other. Both together stay below the
/// buffering limit of one second (§2.4.2.6).
struct ProgramClock {
  /// Distance of timestamps from the clock at which their sample is sent, if both tracks are synchronous: 300 ms.
  static let delay = MediaDuration.milliseconds(300)
  /// Maximum time that the clock waits for a late track: 500 ms, in ticks of 27 MHz.
  static let maximumLag: Int64 = 500 * 27_000
  /// Maximum step: the 40 ms that DVB recommends (ETSI TS 101 154 §4.1.5.3); the limit of ISO/IEC 13818-1 is 100 ms.
  static let maximumInterval: Int64 = 40 * 27_000
  /// Maximum step that is bridged with clock packets: 1 s; the clock jumps over longer gaps.
  static let maximumGap: Int64 = 1000 * 27_000
  /// Mask of the 33 bits of a timestamp.
  static let timestampMask: UInt64 = (1 << 33) - 1

  /// Last value sent, in ticks of 27 MHz.
  private var last: Int64?
  /// Newest decoding time, in ticks of 27 MHz.
  private var newest = Int64.min
  /// End of the last video sample, in ticks of 27 MHz.
  private var videoEnd: Int64?
  /// End of the last audio sample, in ticks of 27 MHz.
  private var audioEnd: Int64?

  /// Records the time of a sample, also of one that is too late to be sent: the clock then waits for its track.
  mutating func advance(to sample: EncodedSample) {
    self.newest = max(self.newest, sample.decodeTime.ticks(timescale: 27_000_000))
    let end = max(sample.decodeTime, sample.decodeTime + sample.duration).ticks(timescale: 27_000_000)
    switch sample.kind {
    case .video: self.videoEnd = max(end, self.videoEnd ?? end)
    case .audio: self.audioEnd = max(end, self.audioEnd ?? end)
    }
  }

  /// Forgets the ends of both tracks, before the tracks change.
  mutating func forgetTracks() {
    self.videoEnd = nil
    self.audioEnd = nil
  }

  /// Whether the clock has passed the timestamp of the sample recorded last, so that a decoder would discard it.
  func hasPassed(_ sample: EncodedSample) -> Bool {
    guard let last = self.last else { return false }
    let timestamp = min(sample.presentationTime, sample.decodeTime) + Self.delay
    // One tick of 90 kHz is 300 ticks of the clock; one tick more leaves room for clock packets. No overflow: 2⁶³ ns
    // are 2⁵⁸ ticks.
    return timestamp.ticks(timescale: 90_000) * 300 < max(self.target, last) + 300
  }

  /// Returns the value of a clock packet to send before the sample, so that no step is too large; nil when none is due.
  ///
  /// Called repeatedly until nil.
  ///
  /// - Parameter isCarried: Whether the sample carries a clock value, so that neither the first value nor one after a gap
  ///   needs a packet.
  mutating func overdueValue(isCarried: Bool) -> Int64? {
    guard let last = self.last else { return isCarried ? nil : self.nextValue() }
    guard self.target > last else { return nil }
    // No overflow: 2⁶³ ns are 2⁵⁸ ticks.
    let step = self.target - last
    guard step > Self.maximumInterval else { return nil }
    guard step <= Self.maximumGap else { return isCarried ? nil : self.nextValue() }
    self.last = last + Self.maximumInterval
    return self.last
  }

  /// Returns the value to send now, larger than the last one.
  mutating func nextValue() -> Int64 {
    let value = max(self.target, self.last.map { $0 + 1 } ?? self.target)
    self.last = value
    return value
  }

  /// PTS or DTS of a time: 33 bits in ticks of 90 kHz, ``delay`` included.
  static func timestamp(_ time: MediaTime) -> UInt64 {
    UInt64(bitPattern: (time + Self.delay).ticks(timescale: 90_000)) & Self.timestampMask
  }

  /// Intended clock value once there is a sample; may be below ``last`` when a late track joins.
  private var target: Int64 {
    let slower = min(self.videoEnd ?? self.newest, self.audioEnd ?? self.newest, self.newest)
    return max(slower, self.newest - Self.maximumLag)
  }
}
