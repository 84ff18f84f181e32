internal import Media

extension VideoFrame {
  /// A copy of the frame in I420, without rotation or mirroring applied, so that a device can reuse its buffer. RGB is
  /// converted to BT.601.
  var copy: VideoFrame {
    let matrix = self.format.pixelFormat.isYCbCr ? self.format.colorMatrix : .bt601
    let buffer = PixelBuffer(
      format: VideoFormat(
        width: self.format.width, height: self.format.height, frameRate: self.format.frameRate, colorMatrix: matrix))
    I420Planes(buffer).convert(self.buffer)
    defer { withExtendedLifetime(self) {} }
    return VideoFrame(
      buffer: buffer, timestamp: self.timestamp, orientation: self.orientation, isMirrored: self.isMirrored,
      captureLatency: self.captureLatency)
  }
}
