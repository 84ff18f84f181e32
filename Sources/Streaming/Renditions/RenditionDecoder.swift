internal import Codecs
internal import Effects
internal import Media
internal import Threading

/// Decodes the access units of a passed-through source for the renditions in use, and scales the frames, on a thread of its own: the
/// main rendition, which is the access units themselves, waits for neither.
///
/// The thread runs between the first ``append(_:of:group:at:)`` and ``rest()``.
final class RenditionDecoder: Sendable {
  private struct State {
    var queue = DecodingQueue()
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

  /// Enqueues an access unit that was passed through; returns at once.
  ///
  /// - Parameters:
  ///   - sample: With the times of the output.
  ///   - group: The access units since the last keyframe, this one included; called when decoding begins here.
  func append(
    _ sample: EncodedSample, of description: CodecDescription, group: () -> [EncodedSample], at now: MediaTime
  ) {
    guard case .h264(let description) = description else { return }
    let (dropped, starts) = self.state.withLock { state -> (Int, Bool) in
      var dropped = 0
      if state.isActive {
        dropped = state.queue.append(sample, of: description, at: now)
      } else {
        state.isActive = true
        state.queue.start(with: group(), of: description, at: now)
      }
      guard !state.isThreadRunning else { return (dropped, false) }
      state.isThreadRunning = true
      return (dropped, true)
    }
    if dropped > 0 { self.shared.renditions.countDrops(dropped) }
    if starts, !WorkerThread.startDetached(named: "decoder", { self.run() }) {
      // Tried again with the next access unit.
      self.state.withLock { $0 = State() }
    }
  }

  /// Drops what waits, closes the decoder and ends the thread; returns at once.
  func rest() {
    self.state.withLock { state in
      state.isActive = false
      state.queue.removeAll()
    }
  }

  private enum Step {
    case decode(DecodingQueue.Item, isShown: Bool)
    case end
  }

  private func next() -> Step {
    let step = self.state.take { state -> Step? in
      if let (item, isShown) = state.queue.next() { return .decode(item, isShown: isShown) }
      guard !state.isActive else { return nil }
      state.isThreadRunning = false
      return .end
    }
    return step ?? .end
  }

  private func run() {
    let converter = FrameConverter(format: self.format, scaling: self.settings.scaling)
    let feed = RenditionFeed(self.shared.renditions, keyframeInterval: self.settings.keyframeInterval)
    var decoder: H264Decoder?
    /// Presentation time of the last keyframe, until its frame, or one after it, is shown.
    var keyframe: MediaTime?
    while case .decode(let item, let isShown) = self.next() {
      // Without a decoder renditions stand still, and the main one does not.
      if item.isFirst { decoder = try? H264Decoder(item.description) }
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
        feed.offerDecoded(
          self.shared.effects.release(drawn), isKeyframe: isKeyframe, generation: generation,
          at: StreamClock.system.now())
      }
    }
  }
}
