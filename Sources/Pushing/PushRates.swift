internal import Media
internal import WebRTC

/// The bitrate of a push's own encoding: by what leaves the connection, or by what the protocol estimates. Pure: `now` is an
/// argument.
enum PushRates {
  /// TCP: the age of unsent media shows that the link falls short.
  case unsent(PushBitrate)
  /// WebRTC: the receiver's reports give an estimate, which is followed as that of a rendition's only viewer.
  ///
  /// The full bitrate is left when the estimate has been too low since a time for ``persistence``: a push then gets an encoding of its own,
  /// which costs as much as the stream's.
  case estimated(SoleViewerBitrate, lowSince: MediaTime?)

  /// Time for which the estimate must be too low before the full bitrate is left.
  private static let persistence = MediaDuration.seconds(1)
  /// Bits per second of Opus with headers, which share the estimate.
  private static let audioBitrate = 90_000

  /// - Parameters:
  ///   - bounds: Minimum and maximum bitrate; the first one is the maximum.
  ///   - isEstimated: Whether the protocol estimates what the connection carries.
  init(bounds: ClosedRange<Int>, isEstimated: Bool) {
    self =
      isEstimated ? .estimated(SoleViewerBitrate(bounds: bounds), lowSince: nil) : .unsent(PushBitrate(bounds: bounds))
  }

  /// Bits per second.
  var bitrate: Int {
    switch self {
    case .unsent(let rates): rates.bitrate
    case .estimated(let rates, _): rates.bitrate
    }
  }

  /// Changes the maximum bitrate; a bitrate that is at the maximum follows it.
  mutating func setMaximum(_ maximum: Int) {
    switch self {
    case .unsent(var rates):
      rates.setMaximum(maximum)
      self = .unsent(rates)
    case .estimated(let rates, _):
      // Estimates that are too low lower it again.
      guard rates.bounds.upperBound != maximum else { return }
      self = .estimated(
        SoleViewerBitrate(bounds: min(rates.bounds.lowerBound, maximum)...maximum), lowSince: nil)
    }
  }

  /// Records bytes that are passed to the connection as in flight.
  mutating func handleReleased(_ bytes: Range<Int64>, at now: MediaTime) {
    guard case .unsent(var rates) = self else { return }
    rates.handleReleased(bytes, at: now)
    self = .unsent(rates)
  }

  /// Counts bytes that the connection has sent, as acknowledged a round trip later.
  mutating func measure(leftByteCount: Int64, roundTripTime: MediaDuration, at now: MediaTime) {
    guard case .unsent(var rates) = self else { return }
    rates.measure(leftByteCount: leftByteCount, roundTripTime: roundTripTime, at: now)
    self = .unsent(rates)
  }

  /// Updates the bitrate; called about ten times a second.
  ///
  /// - Parameters:
  ///   - age: Age of the oldest media that has not left.
  ///   - estimate: Bits per second that the connection carries; nil while unknown.
  /// - Returns: The new bitrate; nil when it stays.
  mutating func update(leftByteCount: Int64, age: MediaDuration, estimate: Int?, at now: MediaTime) -> Int? {
    switch self {
    case .unsent(var rates):
      let bitrate = rates.update(leftByteCount: leftByteCount, age: age, at: now)
      self = .unsent(rates)
      return bitrate
    case .estimated(let rates, let lowSince):
      var next = rates
      let bitrate = next.update(estimate: estimate, audioBitrate: Self.audioBitrate, at: now)
      let leavesFull = rates.bitrate == rates.bounds.upperBound && next.bitrate < rates.bitrate
      let start = leavesFull ? lowSince ?? now : nil
      if let start, now - start < Self.persistence {
        self = .estimated(rates, lowSince: start)
        return nil
      }
      self = .estimated(next, lowSince: nil)
      return bitrate
    }
  }
}
