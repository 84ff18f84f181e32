internal import Capture
internal import Media

/// Plays a file or connection for a video consumer, an audio consumer, or both on one timeline. A started track must be
/// stopped: its thread keeps the player alive.
protocol TrackPlayer: AnyObject, Sendable {
  /// Format of the frames; nil without a video track. May change after a reconnection.
  var videoFormat: VideoFormat? { get }

  /// Whether the consumer of a track is attached.
  func isStarted(_ kind: MediaKind) -> Bool

  /// Starts delivering frames.
  func start(video consumer: any VideoConsumer) throws(VidiconError)

  /// Starts delivering audio blocks.
  func start(audio consumer: any AudioConsumer) throws(VidiconError)

  /// Stops delivery to a consumer; does nothing when it is not started.
  func stop(_ kind: MediaKind)

  /// Requests a keyframe of the sender, on any thread; returns without blocking. By default does nothing.
  func requestKeyframe()
}

extension TrackPlayer {
  /// Does nothing: for files, and for protocols without such a request.
  func requestKeyframe() {}
}

/// Video capturer of a ``TrackPlayer``.
final class TrackVideoCapturer: VideoCapturer {
  let player: any TrackPlayer
  /// The path or address of what is played; nil for a publisher, which sends to one capturer alone.
  let sourceName: String?

  /// - Parameter player: A player with a video track.
  init(player: any TrackPlayer, sourceName: String?) {
    self.player = player
    self.sourceName = sourceName
  }

  deinit {
    self.stop()
  }

  var format: VideoFormat {
    // No trap: only players with a video track have this capturer.
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

  /// True: files end, and connections of the network are lost, by error or after a silence that is not theirs.
  var reportsLoss: Bool { true }

  func requestKeyframe() {
    self.player.requestKeyframe()
  }
}

/// Audio capturer of a ``TrackPlayer``.
final class TrackAudioCapturer: AudioCapturer {
  let format: AudioFormat
  let player: any TrackPlayer

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
