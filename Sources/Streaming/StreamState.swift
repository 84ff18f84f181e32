internal import Effects
internal import Media
internal import Synchronization

/// What a stream's threads and its owner share.
final class StreamState: Sendable {
  private struct Controls {
    var isPaused = false
    var videoBitrate: Int
    var isMuted = false
    var audioLevel = AudioLevel.silence
  }

  let statistics = Mutex(StreamStatistics())
  let pictures = StreamPictures()
  let effects = EffectChain()
  let metadata = Subscriptions<PictureMetadata>()
  let faceEvents = Subscriptions<FaceEvent>()
  let events: AsyncStream<StreamEvent>
  private let eventContinuation: AsyncStream<StreamEvent>.Continuation
  private let controls: Mutex<Controls>

  init(videoBitrate: Int) {
    (self.events, self.eventContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
    self.controls = Mutex(Controls(videoBitrate: videoBitrate))
  }

  /// Whether anything is done to pictures before they are encoded.
  var hasEffects: Bool { !self.effects.isEmpty }

  /// Whether pictures are taken but not encoded.
  var isPaused: Bool {
    get { self.controls.withLock { $0.isPaused } }
    set { self.controls.withLock { $0.isPaused = newValue } }
  }

  /// The target bitrate of the picture, bits a second.
  var videoBitrate: Int {
    get { self.controls.withLock { $0.videoBitrate } }
    set { self.controls.withLock { $0.videoBitrate = newValue } }
  }

  /// Whether silence is encoded in place of the sound.
  var isMuted: Bool {
    get { self.controls.withLock { $0.isMuted } }
    set { self.controls.withLock { $0.isMuted = newValue } }
  }

  /// How loud the source's sound is.
  var audioLevel: AudioLevel {
    get { self.controls.withLock { $0.audioLevel } }
    set { self.controls.withLock { $0.audioLevel = newValue } }
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
