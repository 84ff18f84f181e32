internal import Media

extension VideoFrame {
  /// The same picture in memory of its own, as I420 and with nothing turned or mirrored: what a device lends goes back to
  /// it. Of RGB it has the colours of BT.601.
  var copy: VideoFrame {
    let matrix = self.format.pixelFormat.isYCbCr ? self.format.colorMatrix : .bt601
    let buffer = PixelBuffer(
      format: VideoFormat(
        width: self.format.width, height: self.format.height, frameRate: self.format.frameRate, colorMatrix: matrix))
    I420Picture(buffer).convert(self.buffer)
    defer { withExtendedLifetime(self) {} }
    return VideoFrame(
      buffer: buffer, timestamp: self.timestamp, orientation: self.orientation, isMirrored: self.isMirrored,
      captureDelay: self.captureDelay)
  }
}
