internal import Capture
internal import Media

/// Plays one file or connection for a consumer of its pictures, one of its sound, or both on one timeline. Whoever is started
/// must be stopped again.
protocol TrackPlayer: AnyObject, Sendable {
  /// What the pictures look like; nil when there are none. It may become another one.
  var videoFormat: VideoFormat? { get }

  /// Whether one of the two is started.
  func isStarted(_ kind: MediaKind) -> Bool

  /// Begins to hand over pictures.
  func start(video consumer: any VideoConsumer) throws(VidiconError)

  /// Begins to hand over sound.
  func start(audio consumer: any AudioConsumer) throws(VidiconError)

  /// Ends one of the two; without effect when it is not started.
  func stop(_ kind: MediaKind)
}

/// The pictures of a player.
final class TrackVideoCapturer: VideoCapturer {
  private let player: any TrackPlayer

  /// The pictures of a player that has some.
  init(player: any TrackPlayer) {
    self.player = player
  }

  deinit {
    self.stop()
  }

  var format: VideoFormat {
    // No trap: there is such a capturer only where the player has pictures.
    self.player.videoFormat!
  }

  var isStarted: Bool {
    self.player.isStarted(.video)
  }

  func start(consumer: any VideoConsumer) throws(VidiconError) {
    try self.player.start(video: consumer)
  }

  func stop() {
    self.player.stop(.video)
  }
}

/// The sound of a player.
final class TrackAudioCapturer: AudioCapturer {
  let format: AudioFormat
  private let player: any TrackPlayer

  init(player: any TrackPlayer, format: AudioFormat) {
    self.player = player
    self.format = format
  }

  deinit {
    self.stop()
  }

  var isStarted: Bool {
    self.player.isStarted(.audio)
  }

  func start(consumer: any AudioConsumer) throws(VidiconError) {
    try self.player.start(audio: consumer)
  }

  func stop() {
    self.player.stop(.audio)
  }
}
