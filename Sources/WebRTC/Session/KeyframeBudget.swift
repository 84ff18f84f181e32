package import Media

/// Bounds the keyframes that viewers of a rendition ask for by their share of its bitrate: a keyframe takes its bits from the
/// frames that all viewers see. Pure: `now` is an argument.
///
/// A share of the bitrate is a credit, of which a requested keyframe takes its own length. Without credit a request waits: for
/// credit, or for a keyframe that comes anyway. The credit grows with time, not with frames: a still source has few of them. A
/// request while another one waits asks for the same keyframe.
package struct KeyframeBudget: Sendable {
  /// Share of the bitrate that requested keyframes may have: a fifth.
  private static let divisor = 5
  /// Number of keyframes that may be requested at once after a time without.
  private static let maximumSavedKeyframes = 3
  /// Length of a keyframe before the first one, in bytes.
  private static let presumedKeyframeLength = 30_000
  /// Time after which a request that the encoder has not met is made again.
  private static let repetitionInterval = MediaDuration.seconds(1)

  /// Bits per second of the rendition. Keyframes of another bitrate are presumed to be as much shorter or longer.
  package var bitrate: Int {
    didSet {
      guard self.bitrate != oldValue, oldValue > 0, self.bitrate > 0 else { return }
      let factor = Double(self.bitrate) / Double(oldValue)
      self.keyframeLength = Int(Double(self.keyframeLength) * factor)
      self.credit = Int(Double(self.credit) * factor)
    }
  }
  private var credit = Self.presumedKeyframeLength * Self.maximumSavedKeyframes
  /// Length of the last keyframe in bytes.
  private var keyframeLength = Self.presumedKeyframeLength
  private var isWaiting = false
  /// Time at which a keyframe was requested of the encoder; nil when it has followed.
  private var asked: MediaTime?
  /// Time until which credit was added; nil before the first request or frame.
  private var creditTime: MediaTime?

  /// A budget before the first frame.
  ///
  /// - Parameter bitrate: Bits per second of the rendition.
  package init(bitrate: Int) {
    self.bitrate = bitrate
  }

  /// Records a request for a keyframe.
  ///
  /// - Returns: Whether to ask the encoder now.
  package mutating func request(at now: MediaTime) -> Bool {
    self.isWaiting = true
    return self.ask(at: now)
  }

  /// Records a keyframe of the rendition, which fulfills the request.
  ///
  /// - Parameter byteCount: Its length.
  package mutating func handleKeyframe(byteCount: Int, at now: MediaTime) {
    self.addCredit(at: now)
    self.keyframeLength = byteCount
    // One that was not requested costs nothing here, and one that is longer than was presumed no debts.
    if self.asked != nil { self.credit = max(0, self.credit - byteCount) }
    (self.isWaiting, self.asked) = (false, nil)
  }

  /// Looks at a request that waits; called some ten times a second.
  ///
  /// - Returns: Whether to ask the encoder now.
  package mutating func handleTimeout(at now: MediaTime) -> Bool {
    self.isWaiting && self.ask(at: now)
  }

  private mutating func addCredit(at now: MediaTime) {
    let interval = max(.zero, now - (self.creditTime ?? now))
    self.creditTime = now
    let added = Int(Double(self.bitrate) / 8 * min(interval.seconds, 3600)) / Self.divisor
    self.credit = min(self.credit + added, self.keyframeLength * Self.maximumSavedKeyframes)
  }

  private mutating func ask(at now: MediaTime) -> Bool {
    self.addCredit(at: now)
    if let asked, now - asked < Self.repetitionInterval { return false }
    guard self.asked != nil || self.credit >= self.keyframeLength else { return false }
    self.asked = now
    return true
  }
}
