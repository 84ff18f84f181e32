internal import Media

/// Decides when silence replaces audio that has not come. Pure: no clock.
///
/// A block that arrives late and is still used, as those before the start of a connection, shows that the next one is late too: silence
/// in its place would cut it.
struct AudioTimeout {
  /// Maximum of ``limit``, and thereby of the latency that a source with late blocks adds to the audio.
  static let maximum = MediaDuration.seconds(2)

  /// Time after the expected arrival of a block at which silence replaces it.
  private(set) var limit: MediaDuration
  /// Initial value of ``limit``.
  private let minimum: MediaDuration
  /// Arrival of the last block that was used.
  private var lastUse: MediaTime?

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

  /// Duration of the silence to insert at the deadline: up to the latency of the source.
  func silence(expected: MediaTime, at now: MediaTime) -> MediaDuration {
    now - (self.limit - self.minimum / 2) - expected
  }

  /// Records a block of which a part at least is used.
  mutating func handleUse(at now: MediaTime) {
    self.lastUse = now
  }

  /// Raises the limit to the latency of a block that silence has replaced, so that a source of high latency is not replaced forever.
  mutating func raise(to latency: MediaDuration) {
    // Of a stall, after which blocks come in time again.
    guard latency <= Self.maximum else { return }
    self.limit = max(self.limit, min(latency + self.minimum / 2, Self.maximum))
  }

  /// Returns to the initial limit, for another source.
  mutating func reset() {
    self.limit = self.minimum
  }
}
