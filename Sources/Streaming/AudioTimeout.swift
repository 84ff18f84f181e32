internal import Media

/// Decides when silence replaces audio that has not come. Pure: no clock.
///
/// A block that arrives late and is still used, as those before the start of a connection, shows that the next one is late too: silence
/// in its place would cut it.
struct AudioTimeout {
  /// Maximum of ``limit``, and thereby of the latency that a source with late blocks adds to the audio.
  static let maximum = MediaDuration.seconds(2)
  /// Maximum silence at once because of a block that came late: in place of more, the pipeline leaves a gap.
  static let maximumSilence = MediaDuration.seconds(1)
  /// Time after which blocks that silence has replaced no longer count.
  static let memory = MediaDuration.seconds(10)

  /// Time after the expected arrival of a block at which silence replaces it.
  private(set) var limit: MediaDuration
  /// Initial value of ``limit``.
  private let minimum: MediaDuration
  /// Arrival of the last block that was used.
  private var lastUse: MediaTime?
  /// The blocks that silence has replaced of late: arrival of the first and the last one, and duration of all.
  private var cut: (since: MediaTime, last: MediaTime, duration: MediaDuration)?

  /// - Parameter minimum: Initial value of ``limit``.
  init(_ minimum: MediaDuration) {
    (self.limit, self.minimum) = (minimum, minimum)
  }

  /// Time at which silence begins.
  ///
  /// - Parameter expected: Time of the next block by the count of samples.
  func deadline(expected: MediaTime) -> MediaTime {
    max(expected, self.lastUse ?? expected) + self.limit
  }

  /// Duration of the silence to insert at the deadline: up to the latency of the source. Of what a late block has delayed, a second; the
  /// rest is due at once.
  func silence(expected: MediaTime, at now: MediaTime) -> MediaDuration {
    let missing = now - (self.limit - self.minimum / 2) - expected
    let delayed = max(expected, self.lastUse ?? expected) - expected
    // Of other gaps all is missing, as after the machine was suspended.
    return missing - delayed > Self.maximumSilence ? missing : min(missing, Self.maximumSilence)
  }

  /// Records a block of which a part at least is used.
  mutating func handleUse(at now: MediaTime) {
    self.lastUse = now
  }

  /// Records a block that silence has replaced. Where a tenth of the audio is replaced or more, the limit is raised to the latency,
  /// so that a source of high latency, or with bursts, is not replaced forever; blocks that come at once, as at its start or after
  /// a stall, are followed by others in time.
  mutating func handleCut(_ duration: MediaDuration, latency: MediaDuration, at now: MediaTime) {
    if let cut, now - cut.last > Self.memory { self.cut = nil }
    let (since, _, before) = self.cut ?? (now, now, .zero)
    self.cut = (since, now, before + duration)
    let elapsed = now - since
    guard before > .zero, elapsed >= before / 2, before >= elapsed / 10, latency <= Self.maximum else { return }
    self.limit = max(self.limit, min(latency + self.minimum / 2, Self.maximum))
  }

  /// Returns to the initial limit, for another source.
  mutating func reset() {
    (self.limit, self.cut) = (self.minimum, nil)
  }
}
