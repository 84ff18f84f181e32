internal import Media

/// The picture that viewers see while a source gives none.
enum Slate {
  /// A dark picture with the words NO SIGNAL in its middle.
  static func picture(format: VideoFormat) -> VideoFrame {
    let buffer = PixelBuffer(format: format)
    let picture = I420Picture(buffer)
    picture.fill(I420Picture.Area(x: 0, y: 0, width: picture.width, height: picture.height), luma: 40)
    let text = "NO SIGNAL"
    let plane = DrawingPlane(
      buffer.unsafePlane(0), width: format.width, height: format.height, bytesPerRow: format.bytesPerRow[0])
    let scale = BitmapFont.scale(of: text, fitting: format.width / 2, by: format.height / 4)
    BitmapFont.drawCentred(text, scale: scale, luma: 180, into: plane)
    return VideoFrame(buffer: buffer, timestamp: .zero)
  }
}
