internal import Effects
internal import Media
internal import Synchronization

/// The further renditions of a stream, as its threads and its owner share them.
final class RenditionSet: Sendable {
  private struct State {
    var renditions: [StreamRendition] = []
    var hasEnded = false
  }

  private let state = Mutex(State())
  private let inUse = Atomic(false)
  private let keyframeRequested = Atomic(false)
  private let passedThrough = Atomic(false)

  /// The renditions, in the order of their settings; empty before the video pipeline has opened.
  var all: [StreamRendition] { self.state.withLock { $0.renditions } }

  /// Whether any rendition is in use; costs an atomic load.
  var isInUse: Bool { self.inUse.load(ordering: .relaxed) }

  /// Whether access units of the source are the main rendition.
  var isMainPassedThrough: Bool {
    get { self.passedThrough.load(ordering: .relaxed) }
    set { self.passedThrough.store(newValue, ordering: .relaxed) }
  }

  /// Creates the renditions once the stream's format is known.
  ///
  /// - Parameter requestKeyframe: Requests a keyframe from the pipeline.
  func connect(
    _ stream: VideoSettings, format: VideoFormat, report: @escaping @Sendable (StreamEvent) -> Void,
    requestKeyframe: @escaping @Sendable () -> Void
  ) {
    let (usable, problems) = stream.renditions.renditions(for: format)
    let renditions = usable.map { settings in
      StreamRendition(
        settings, of: format, video: stream, lingerTime: stream.renditionLingerTime, report: report,
        request: { [weak self] in
          guard let self else { return }
          self.keyframeRequested.store(true, ordering: .relaxed)
          // A source whose access units are passed through is not asked for the sake of these.
          if !self.isMainPassedThrough { requestKeyframe() }
        },
        usageChanged: { [weak self] in self?.updateUse() })
    }
    let isConnected = self.state.withLock { state in
      if !state.hasEnded { state.renditions = renditions }
      return !state.hasEnded
    }
    guard isConnected else { return }
    for (name, error) in problems { report(.renditionFailed(name, error)) }
  }

  private func updateUse() {
    // In this order concurrent changes end with the last state.
    self.state.withLock { state in
      self.inUse.store(state.renditions.contains(where: \.isInUse), ordering: .relaxed)
    }
  }

  /// Whether a rendition's viewers have requested a keyframe since the last call.
  func takeKeyframeRequest() -> Bool {
    self.keyframeRequested.exchange(false, ordering: .relaxed)
  }

  /// Outputs a sample of the stream's audio.
  func consumeAudio(_ sample: EncodedSample) {
    guard self.isInUse else { return }
    for rendition in self.all { rendition.consumeAudio(sample) }
  }

  /// Discards frames and samples released until now.
  func discardEarlier() {
    for rendition in self.all { rendition.discardEarlier() }
  }

  /// Ends the renditions and their outputs.
  func end() {
    let renditions = self.state.withLock { state in
      state.hasEnded = true
      return state.renditions
    }
    for rendition in renditions { rendition.end() }
  }
}
