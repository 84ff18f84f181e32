package import Media

/// The bitrate of an encoding while one WebRTC viewer is its only consumer: that viewer's estimate.
///
/// Falls at once. Rises by as much as the estimate, which a probe or a trial has raised, in steps that are worth a change of the encoder. As
/// soon as anybody else uses the encoding, it is the configured one again: no viewer lowers what others get.
package struct SoleViewerBitrate: Sendable {
  /// Share of the estimate for what the encoder makes; the rest is for headers and the encoder's variation.
  private static let usableShare = 0.95
  /// Factors of the bitrate beyond which a change is worth it.
  private static let (fall, rise) = (0.96, 1.08)
  /// Time between two rises.
  private static let riseInterval = MediaDuration.milliseconds(250)

  /// Bits per second of the encoder.
  package var bitrate: Int
  /// Minimum bitrate, and the configured one, in bits per second; a change applies with the next update.
  package var bounds: ClosedRange<Int>
  private var lastChange: MediaTime?

  /// Creates the rule for a rendition, which starts at its configured bitrate.
  ///
  /// - Parameter bounds: Minimum bitrate, and the configured one, in bits per second.
  package init(bounds: ClosedRange<Int>) {
    self.bounds = bounds
    self.bitrate = bounds.upperBound
  }

  /// Updates the bitrate by an estimate, some ten times a second.
  ///
  /// - Parameters:
  ///   - estimate: Bits per second to send to the only consumer; nil when there is another consumer, or none.
  ///   - audioBitrate: Bits per second of its audio, with headers.
  /// - Returns: The new bitrate of the encoder; nil when it stays.
  package mutating func update(estimate: Int?, audioBitrate: Int, at now: MediaTime) -> Int? {
    var wanted = self.bounds.upperBound
    if let estimate {
      let video = Int(Double(estimate) * Self.usableShare) - audioBitrate
      wanted = min(max(video, self.bounds.lowerBound), self.bounds.upperBound)
    }
    let isLimit = wanted == self.bounds.upperBound || wanted == self.bounds.lowerBound
    let factor = Double(wanted) / Double(self.bitrate)
    let isWorthwhile = factor < Self.fall || factor > Self.rise || isLimit || !self.bounds.contains(self.bitrate)
    guard wanted != self.bitrate, isWorthwhile else { return nil }
    if let lastChange, wanted > self.bitrate, estimate != nil, now - lastChange < Self.riseInterval { return nil }
    self.lastChange = now
    self.bitrate = wanted
    return wanted
  }
}
