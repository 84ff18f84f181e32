internal import Media

/// The frame that viewers see while a source delivers none.
enum Slate {
  /// A dark frame with the words NO SIGNAL in its middle.
  static func frame(format: VideoFormat) -> VideoFrame {
    let buffer = PixelBuffer(format: format)
    let planes = I420Planes(buffer)
    planes.fill(I420Planes.Area(x: 0, y: 0, width: planes.width, height: planes.height), luma: 40)
    let text = "NO SIGNAL"
    let plane = DrawingPlane(
      buffer.unsafePlane(0), width: format.width, height: format.height, bytesPerRow: format.bytesPerRow[0])
    let scale = BitmapFont.scale(of: text, fitting: format.width / 2, by: format.height / 4)
    BitmapFont.drawCentred(text, scale: scale, luma: 180, into: plane)
    return VideoFrame(buffer: buffer, timestamp: .zero)
  }
}
