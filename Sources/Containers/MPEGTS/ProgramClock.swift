internal import Media

/// The program clock reference of a multiplex, ISO/IEC 13818-1 §2.4.2.2: it follows the newest decoding time, always
/// forward, in steps of at most 40 ms.
///
/// The clock is the newest sample's decoding time; timestamps are written ``delay`` later than they are. So the first
/// clock value of a stream is not below zero, a decoder has that long to take in a picture before it must be shown, and
/// sound and picture may be that far out of order.
struct ProgramClock {
  /// How far timestamps lie ahead of the clock at which their sample is sent: 300 ms.
  static let delay = MediaDuration.milliseconds(300)
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

  /// Takes note of a sample that is about to be sent.
  mutating func advance(to decodeTime: MediaTime) {
    self.newest = max(self.newest, decodeTime.ticks(timescale: 27_000_000))
  }

  /// A value that must be sent before anything else, so that no step is too large; nil when none must.
  ///
  /// Called again until it is nil.
  ///
  /// - Parameter isCarried: Whether the sample carries a value itself, so that neither the first one nor one behind a gap
  ///   must be sent before it.
  mutating func overdueValue(isCarried: Bool) -> Int64? {
    guard let last = self.last else { return isCarried ? nil : self.nextValue() }
    guard self.newest > last else { return nil }
    // No overflow: 2⁶³ nanoseconds are 2⁵⁸ ticks.
    let step = self.newest - last
    guard step > Self.maximumInterval else { return nil }
    guard step <= Self.maximumGap else { return isCarried ? nil : self.nextValue() }
    self.last = last + Self.maximumInterval
    return self.last
  }

  /// The value to send now, larger than the one before.
  mutating func nextValue() -> Int64 {
    let value = max(self.newest, self.last.map { $0 + 1 } ?? self.newest)
    self.last = value
    return value
  }

  /// A timestamp of 33 bits at 90 kHz.
  static func timestamp(_ time: MediaTime) -> UInt64 {
    UInt64(bitPattern: (time + Self.delay).ticks(timescale: 90_000)) & Self.timestampMask
  }
}
