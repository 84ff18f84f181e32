internal import Media

/// Effect that may hold frames back, to see what follows before they are shown.
protocol HoldingEffect: VideoEffect {
  /// Adds a frame; the effects after this one get the frames that it returns.
  ///
  /// - Parameter completes: Whether all frames are to be returned at once.
  func submit(_ frame: EffectFrame, completes: Bool) -> HeldFrames
}

/// Frames that a ``HoldingEffect`` passes on, oldest first.
struct HeldFrames {
  var frames: [(frame: EffectFrame, verdict: EffectVerdict)] = []
  /// Searches for faces that missed their deadline, and that failed.
  var stalls = 0
  var failures = 0
  /// Description of the failure, for users.
  var failure: String?
}
