internal import Effects
internal import Media
internal import Synchronization

/// State shared by a stream's threads and its owner.
final class StreamState: Sendable {
  private struct Controls {
    var isPaused = false
    var videoBitrate: Int
    var viewerBitrate: Int?
    var isMuted = false
    var audioLevel = AudioLevel.silence
  }

  let statistics = Mutex(StreamStatistics())
  /// Outputs of the main rendition.
  let outputs = OutputGroup()
  let snapshots = StreamSnapshots()
  let renditions = RenditionSet()
  let effects = EffectChain()
  let metadata = Subscriptions<TimedFrameMetadata>()
  let faceEvents = Subscriptions<FaceEvent>()
  let events: AsyncStream<StreamEvent>
  private let eventContinuation: AsyncStream<StreamEvent>.Continuation
  private let controls: Mutex<Controls>

  init(videoBitrate: Int) {
    (self.events, self.eventContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
    self.controls = Mutex(Controls(videoBitrate: videoBitrate))
  }

  /// Whether the stream has effects.
  var hasEffects: Bool { !self.effects.isEmpty }

  /// Whether frames are captured but not encoded.
  var isPaused: Bool {
    get { self.controls.withLock { $0.isPaused } }
    set { self.controls.withLock { $0.isPaused = newValue } }
  }

  /// Target bitrate of the video, in bits per second.
  var videoBitrate: Int {
    get { self.controls.withLock { $0.videoBitrate } }
    set { self.controls.withLock { $0.videoBitrate = newValue } }
  }

  /// Bits per second that the only viewer of the main rendition can take; nil without a limit.
  var viewerBitrate: Int? {
    get { self.controls.withLock { $0.viewerBitrate } }
    set { self.controls.withLock { $0.viewerBitrate = newValue } }
  }

  /// Bits per second of the encoder: the target, or what its only viewer can take.
  var encoderBitrate: Int {
    self.controls.withLock { min($0.videoBitrate, $0.viewerBitrate ?? $0.videoBitrate) }
  }

  /// Whether silence is encoded in place of the audio.
  var isMuted: Bool {
    get { self.controls.withLock { $0.isMuted } }
    set { self.controls.withLock { $0.isMuted = newValue } }
  }

  /// Level of the source's audio.
  var audioLevel: AudioLevel {
    get { self.controls.withLock { $0.audioLevel } }
    set { self.controls.withLock { $0.audioLevel = newValue } }
  }

  /// Outputs a sample of the audio, which all renditions have.
  func consumeAudio(_ sample: EncodedSample) {
    self.outputs.consumeAudio(sample)
    self.renditions.consumeAudio(sample)
  }

  /// Discards frames and segments that the outputs of all renditions have kept, and what is being encoded.
  func discardEarlier() {
    self.outputs.discardEarlier {
      let generation = self.renditions.discardEarlier()
      self.snapshots.discardEarlier(to: generation)
      return generation
    }
  }

  func report(_ event: StreamEvent) {
    self.eventContinuation.yield(event)
  }

  func finishEvents() {
    self.eventContinuation.finish()
    self.metadata.finish()
    self.faceEvents.finish()
  }
}
