internal import Media

/// Privacy effect that may hold frames back, to see what follows before they are shown.
protocol HoldingEffect: VideoEffect {
  /// Adds a frame; the effects after this one get the frames that it returns.
  ///
  /// - Parameter completes: Whether all frames are to be returned at once.
  func submit(_ frame: EffectFrame, completes: Bool) -> HeldFrames

  /// Ends ``submit(_:completes:)`` at once where it waits, on any thread: what was not searched is covered, in all frames until the
  /// effect is prepared for others.
  func cancel()
}

/// Frames that a ``HoldingEffect`` has covered and passes on.
struct HeldFrames {
  /// The frames, oldest first.
  var frames: [CoveredFrame] = []
  /// Searches for faces that missed their deadline, and that failed.
  var stalls = 0
  var failures = 0
  /// Description of the failure, for users.
  var failure: String?
  /// Limitation of the effect for these frames, for users; reported once for each size of frames.
  var limit: String?
}
