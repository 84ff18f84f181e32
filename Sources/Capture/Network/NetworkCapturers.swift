internal import Media

/// The pictures of a ``NetworkSource``.
final class NetworkVideoCapturer: VideoCapturer {
  private let player: NetworkPlayer

  init(player: NetworkPlayer) {
    self.player = player
  }

  deinit {
    self.stop()
  }

  var format: VideoFormat {
    // No trap: there is such a capturer only where the stream has pictures.
    self.player.videoFormat!
  }

  var isStarted: Bool {
    self.player.isStarted(.video)
  }

  func start(consumer: any VideoConsumer) throws(CaptureError) {
    try self.player.start { $0.attach(video: consumer) }
  }

  func stop() {
    self.player.stop(.video)
  }
}

/// The sound of a ``NetworkSource``.
final class NetworkAudioCapturer: AudioCapturer {
  let format: AudioFormat
  private let player: NetworkPlayer

  init(player: NetworkPlayer, format: AudioFormat) {
    self.player = player
    self.format = format
  }

  deinit {
    self.stop()
  }

  var isStarted: Bool {
    self.player.isStarted(.audio)
  }

  func start(consumer: any AudioConsumer) throws(CaptureError) {
    try self.player.start { $0.attach(audio: consumer) }
  }

  func stop() {
    self.player.stop(.audio)
  }
}
