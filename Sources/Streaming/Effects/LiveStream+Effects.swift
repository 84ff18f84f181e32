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
  ///
  /// A mask over whole frames that the privacy of another stream demands, since both show one source, is among the effects while it
  /// is needed: setting others neither removes it, unless one of them covers faces, nor brings it back. An effect that is added where
  /// several threads change the list is added with ``changeEffects(_:)``: one that was added between reading the list and setting it
  /// would be lost.
  public var effects: [any VideoEffect] {
    get { self.shared.effects.effects }
    set { self.changeEffects { $0 = newValue } }
  }

  /// Changes ``effects`` in one step, so that no change on another thread is lost.
  ///
  /// ```swift
  /// stream.changeEffects { $0.append(border) }
  /// ```
  ///
  /// - Parameter body: Called once, with the effects; other threads that read or change them wait for it. It must not use the stream.
  public func changeEffects(_ body: (inout [any VideoEffect]) -> Void) {
    self.changeAllEffects { effects in
      let covers = effects.filter { $0.isImposed }
      body(&effects)
      effects.removeAll { $0.isImposed }
      if !effects.contains(where: { $0.isPrivacy }) { effects += covers }
    }
  }

  /// Changes ``effects`` in one step, and the masks among them that the privacy of other streams demands.
  package func changeAllEffects(_ body: (inout [any VideoEffect]) -> Void) {
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
