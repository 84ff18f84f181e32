internal import Codecs
internal import Media

extension VideoSettings {
  /// Settings of the encoder of the stream's own rendition.
  ///
  /// - Parameters:
  ///   - format: Format of the frames, with even sides.
  ///   - bitrate: In bits per second.
  func encoderSettings(format: VideoFormat, bitrate: Int) -> VideoEncoderSettings {
    VideoEncoderSettings(
      width: format.width, height: format.height, frameRate: format.frameRate, colorMatrix: format.colorMatrix,
      bitrate: bitrate, keyframeInterval: self.keyframeInterval, encoder: self.encoder, profile: self.profile,
      rateBuffer: self.rateBuffer)
  }
}
