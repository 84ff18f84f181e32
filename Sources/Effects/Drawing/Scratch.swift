internal import CYUV
internal import Media

/// A picture's worth of memory that stays from picture to picture.
struct Scratch {
  private var memory: PixelBuffer?

  /// Memory of a picture's size, with undefined content.
  mutating func buffer(like format: VideoFormat) -> PixelBuffer {
    if let memory = self.memory, memory.format.width == format.width, memory.format.height == format.height {
      return memory
    }
    let buffer = PixelBuffer(format: VideoFormat(width: format.width, height: format.height))
    self.memory = buffer
    return buffer
  }

  /// A copy of a picture.
  mutating func copy(of picture: PixelBuffer) -> PixelBuffer {
    let buffer = self.buffer(like: picture.format)
    let (from, to) = (Canvas(picture).pointers(), Canvas(buffer).pointers())
    _ = I420Copy(
      from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride, to.luma, to.lumaStride,
      to.cb, to.chromaStride, to.cr, to.chromaStride, Int32(picture.format.width), Int32(picture.format.height))
    return buffer
  }
}
