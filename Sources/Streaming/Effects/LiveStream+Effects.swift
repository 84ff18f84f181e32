public import Effects
internal import Synchronization

extension LiveStream {
  /// Effects applied to frames before they are encoded, in this order; can be changed at any time without dropping a
  /// frame.
  ///
  /// An effect that stays keeps its state. A source that compresses its video is transcoded while there are effects.
  /// Viewers, recordings and snapshots get only processed frames, except for the slate; a frame that is being processed
  /// when this is set keeps the earlier effects.
  ///
  /// Adding a privacy effect discards what outputs keep of earlier frames: HLS segments, snapshots, queued samples.
  public var effects: [any VideoEffect] {
    get { self.shared.effects.effects }
    set { self.changeEffects { $0 = newValue } }
  }

  /// Changes ``effects`` in one step, so that no change on another thread is lost.
  package func changeEffects(_ body: (inout [any VideoEffect]) -> Void) {
    // The pipeline does it again before the first private frame, for a frame that it is processing now.
    if self.shared.effects.change(body) { self.discardEarlier() }
    // The last frame of a still source is encoded again with the new effects.
    self.state.withLock { $0.videoQueue }?.requestRedraw()
  }

  /// Metadata of frames from now on, as outputs get it; ends with the stream. A slow reader gets the newest few.
  /// Nothing is sent without effects, except once after the last one is removed.
  public func metadata() -> AsyncStream<TimedFrameMetadata> {
    self.shared.metadata.subscribe(keeping: 4)
  }

  /// Face events from now on, where a ``FaceTracker`` is among the effects; a new sequence per access, which ends with
  /// the stream. A slow reader gets the newest 64.
  public var faceEvents: AsyncStream<FaceEvent> {
    self.shared.faceEvents.subscribe(keeping: 64)
  }
}
