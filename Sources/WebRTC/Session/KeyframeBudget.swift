package import Media

/// Bounds the keyframes that viewers of a rendition ask for by their share of its bits: a keyframe takes its bits from the
/// frames that all viewers see. Pure: `now` is an argument.
///
/// Each frame that is sent adds a share of its length to a credit, of which a requested keyframe takes its own length. Without
/// credit a request waits: for credit, or for a keyframe that comes anyway. A request while another one waits asks for the same
/// keyframe.
package struct KeyframeBudget: Sendable {
  /// Share of the bits that requested keyframes may have: a fifth.
  private static let divisor = 5
  /// Number of keyframes that may be requested at once after a time without.
  private static let maximumSavedKeyframes = 3
  /// Length of a keyframe before the first one, in bytes.
  private static let presumedKeyframeLength = 30_000
  /// Time after which a request that the encoder has not met is made again.
  private static let repetitionInterval = MediaDuration.seconds(1)

  private var credit = Self.presumedKeyframeLength * Self.maximumSavedKeyframes
  /// Length of the last keyframe in bytes.
  private var keyframeLength = Self.presumedKeyframeLength
  private var isWaiting = false
  /// Time at which a keyframe was requested of the encoder; nil when it has followed.
  private var asked: MediaTime?

  /// A budget before the first frame.
  package init() {}

  /// Records a request for a keyframe.
  ///
  /// - Returns: Whether to ask the encoder now.
  package mutating func request(at now: MediaTime) -> Bool {
    self.isWaiting = true
    return self.ask(at: now)
  }

  /// Adds the credit of a frame of the rendition; a keyframe fulfills the request.
  ///
  /// - Returns: Whether to ask the encoder now, for a request that has waited.
  package mutating func handleFrame(byteCount: Int, isKeyframe: Bool, at now: MediaTime) -> Bool {
    if isKeyframe {
      self.keyframeLength = byteCount
      // One that was not requested costs nothing here.
      if self.asked != nil { self.credit -= byteCount }
      (self.isWaiting, self.asked) = (false, nil)
    }
    self.credit = min(self.credit + byteCount / Self.divisor, self.keyframeLength * Self.maximumSavedKeyframes)
    return self.isWaiting && self.ask(at: now)
  }

  private mutating func ask(at now: MediaTime) -> Bool {
    if let asked, now - asked < Self.repetitionInterval { return false }
    guard self.asked != nil || self.credit >= self.keyframeLength else { return false }
    self.asked = now
    return true
  }
}
