public import Effects
internal import Synchronization

extension LiveStream {
  /// What is done to the pictures before they are encoded, in this order; changed at any time without a dropped picture.
  ///
  /// An effect that stays keeps its state. The pictures of a source that compresses itself are decoded and encoded while
  /// there are effects. All that viewers, recordings and snapshots get has gone through them, but for the slate, which
  /// shows nothing; a picture whose turn has begun when this is set goes on as it was to, and a snapshot may
  /// show it for one frame interval.
  public var effects: [any VideoEffect] {
    get { self.shared.effects.effects }
    set {
      self.shared.effects.effects = newValue
      // A picture that stands still shows them too.
      self.state.withLock { $0.videoQueue }?.requestRedraw()
    }
  }

  /// What effects find out about the pictures from now on, as it goes to the outputs; ends with the stream. Who is slow
  /// gets the newest few. Where there are no effects nothing is told, but for once when the last one has gone.
  public func metadata() -> AsyncStream<PictureMetadata> {
    self.shared.metadata.subscribe(keeping: 4)
  }

  /// What happens to faces from now on, where a ``FaceTracker`` is among the effects; a new sequence at each use, which
  /// ends with the stream. Who is slow gets the newest 64.
  public var faceEvents: AsyncStream<FaceEvent> {
    self.shared.faceEvents.subscribe(keeping: 64)
  }
}
