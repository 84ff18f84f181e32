internal import Media

/// Drift of a video clock against the audio clock of the same source, by the arrival of packets. Pure.
///
/// Cameras over RTSP whose tracks have clocks of their own send reports about both (RFC 3550 §6.4.1). Of one that sends none, the arrival
/// is all that the tracks have in common: the difference of their lowest latencies, which is that of their clocks, the encoders and the
/// network, should stay what it was at first. The video follows the audio slowly and without steps.
struct TrackDrift {
  /// Lowest latencies in the current span, in nanoseconds.
  private var latencies: [MediaKind: Int64] = [:]
  /// End of the current span; nil before the first packet.
  private var spanEnd: MediaTime?
  /// Difference of the latencies that the source has without drift; nil before it is known.
  private var usual: Int64?
  /// Whether packets of the opening, which waited, have passed.
  private var hasStarted = false
  /// Added to the times of the video, in nanoseconds.
  private var shift: Int64 = 0
  /// Change of the shift in the current span, and the time up to which it is made.
  private var change: (Int64, MediaTime)?

  private static let span = MediaDuration.seconds(5)
  /// Maximum change of the shift in a span: 0.2 %.
  private static let maximumChange: Int64 = 10_000_000
  /// Drift that cannot be perceived, and as networks make it.
  private static let tolerance: Int64 = 20_000_000
  /// Larger differences are jumps of a clock.
  private static let maximumDrift: Int64 = 500_000_000

  /// Time to be added to those of the next packet of a track, in nanoseconds; 0 for audio.
  ///
  /// - Parameters:
  ///   - time: Its time on the source's clock, in nanoseconds.
  ///   - arrival: Time of its arrival.
  mutating func shift(of kind: MediaKind, at time: Int64, arrival: MediaTime) -> Int64 {
    if kind == .video { self.advance(to: arrival) }
    let shift = kind == .video ? self.shift : 0
    let latency = arrival.nanoseconds &- time &- shift
    self.latencies[kind] = min(latency, self.latencies[kind] ?? latency)
    let end = self.spanEnd ?? arrival + Self.span
    self.spanEnd = end
    if arrival >= end { self.endSpan(at: arrival) }
    return shift
  }

  /// Makes the part of the change that is due. A pause of the video is no reason for a step.
  private mutating func advance(to now: MediaTime) {
    guard let (change, last) = self.change, now > last else { return }
    self.shift += change * min(now - last, Self.span).nanoseconds / Self.span.nanoseconds
    self.change = (change, now)
  }

  private mutating func endSpan(at now: MediaTime) {
    self.spanEnd = now + Self.span
    self.change = nil
    defer { (self.latencies, self.hasStarted) = ([:], true) }
    guard self.hasStarted, let video = self.latencies[.video], let audio = self.latencies[.audio] else { return }
    let difference = video &- audio
    guard let usual, (-Self.maximumDrift...Self.maximumDrift).contains(difference &- usual) else {
      self.usual = difference
      return
    }
    let drift = difference - usual
    let excess = abs(drift) - Self.tolerance
    guard excess > 0 else { return }
    self.change = (min(excess / 2, Self.maximumChange) * drift.signum(), now)
  }
}
