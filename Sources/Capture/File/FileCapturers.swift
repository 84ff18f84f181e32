internal import Media

/// The pictures of a ``FileSource``.
final class FileVideoCapturer: VideoCapturer {
  let format: VideoFormat
  private let player: FilePlayer

  init(player: FilePlayer, format: VideoFormat) {
    self.player = player
    self.format = format
  }

  deinit {
    self.stop()
  }

  var isStarted: Bool {
    self.player.isStarted(.video)
  }

  func start(consumer: any VideoConsumer) throws(CaptureError) {
    try self.player.start(video: consumer)
  }

  func stop() {
    self.player.stop(.video)
  }
}

/// The sound of a ``FileSource``.
final class FileAudioCapturer: AudioCapturer {
  let format: AudioFormat
  private let player: FilePlayer

  init(player: FilePlayer, format: AudioFormat) {
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
    try self.player.start(audio: consumer)
  }

  func stop() {
    self.player.stop(.audio)
  }
}
