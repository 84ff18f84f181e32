internal import Codecs
internal import Effects
internal import Media
internal import Threading

/// Decodes the access units of a passed-through source for the renditions in use, and scales the frames, on a thread of its own: the
/// main rendition, which is the access units themselves, waits for neither.
///
/// The thread runs between ``start(with:of:at:)`` and ``rest()``.
final class RenditionDecoder: Sendable {
  private struct State {
    var queue = DecodingQueue()
    /// Time at which the last frame is to be shown again, once nothing waits.
    var repetition: MediaTime?
    var isActive = false
    var isThreadRunning = false
  }

  private let format: VideoFormat
  private let settings: VideoSettings
  private let shared: StreamState
  private let state = Monitor(State())

  /// - Parameter format: Format of the stream.
  init(format: VideoFormat, settings: VideoSettings, shared: StreamState) {
    self.format = format
    self.settings = settings
    self.shared = shared
  }

  /// Begins to decode; returns at once.
  ///
  /// - Parameter group: The access units since the last keyframe, with the times of the output.
  /// - Returns: Whether a thread could be started.
  func start(with group: [EncodedSample], of description: H264Description, at now: MediaTime) -> Bool {
    let starts = self.state.withLock { state in
      state.isActive = true
      state.queue.start(with: group, of: description, at: now)
      defer { state.isThreadRunning = true }
      return !state.isThreadRunning
    }
    if starts, !WorkerThread.startDetached(named: "decoder", { self.run() }) {
      self.state.withLock { $0 = State() }
      return false
    }
    return true
  }

  /// Enqueues the access unit that was passed through next; returns at once.
  ///
  /// - Parameter sample: With the times of the output.
  /// - Returns: Whether decoding goes on: without a keyframe it does not, once too much has waited.
  func append(_ sample: EncodedSample, of description: H264Description, at now: MediaTime) -> Bool {
    let (dropped, goesOn) = self.state.withLock { state in
      state.repetition = nil
      return (state.queue.append(sample, of: description, at: now), !state.queue.awaitsKeyframe)
    }
    if dropped > 0 { self.shared.renditions.countDrops(dropped) }
    return goesOn
  }

  /// Shows the last frame again, after those that wait; returns at once.
  func repeatLast(timestamp: MediaTime) {
    self.state.withLock { $0.repetition = timestamp }
  }

  /// Drops what waits, closes the decoder and ends the thread; returns at once.
  func rest() {
    self.state.withLock { state in
      state.isActive = false
      state.queue.removeAll()
      state.repetition = nil
    }
  }

  private enum Step {
    case decode(DecodingQueue.Item, isShown: Bool)
    case repeatLast(timestamp: MediaTime)
    case end
  }

  private func next() -> Step {
    let step = self.state.take { state -> Step? in
      if let (item, isShown) = state.queue.next() { return .decode(item, isShown: isShown) }
      if let time = state.repetition.take() { return .repeatLast(timestamp: time) }
      guard !state.isActive else { return nil }
      state.isThreadRunning = false
      return .end
    }
    return step ?? .end
  }

  private func run() {
    let converter = FrameConverter(format: self.format, scaling: self.settings.scaling)
    let scaler = RenditionScaler(self.shared.renditions, keyframeInterval: self.settings.keyframeInterval)
    var decoder: H264Decoder?
    /// Presentation time of the last keyframe, until its frame, or one after it, is shown.
    var keyframe: MediaTime?
    /// The last frame that was shown since decoding began, and the generation of its release.
    var last: (frame: ReleasedFrame, generation: Int)?
    while true {
      switch self.next() {
      case .end: return
      case .repeatLast(let time):
        guard let last else { continue }
        scaler.offerDecoded(
          last.frame.at(time), isKeyframe: false, generation: last.generation, at: StreamClock.system.now())
      case .decode(let item, let isShown):
        if item.isFirst {
          // Without a decoder renditions stand still, and the main one does not.
          decoder = try? H264Decoder(item.description)
          last = nil
        }
        if item.sample.isKeyframe { keyframe = item.sample.presentationTime }
        guard let decoder else { continue }
        // Before the frame is released: frames released before they had to be private are not for viewers.
        let generation = self.shared.renditions.generation
        let frames = decoder.decode(item.sample)
        guard isShown else { continue }
        for frame in frames {
          guard let drawn = converter.draw(frame, matrix: frame.format.colorMatrix) else {
            self.shared.renditions.countDrops(1)
            continue
          }
          // A decoder may complete a frame later than its access unit.
          let isKeyframe = keyframe.map { frame.timestamp >= $0 } ?? false
          if isKeyframe { keyframe = nil }
          let released = self.shared.effects.release(drawn)
          last = (released, generation)
          scaler.offerDecoded(released, isKeyframe: isKeyframe, generation: generation, at: StreamClock.system.now())
        }
      }
    }
  }
}
