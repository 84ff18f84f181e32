internal import CYUV
internal import Media

/// Frame buffer that is reused from frame to frame.
struct ScratchFrame {
  private var memory: PixelBuffer?

  /// Returns a buffer with undefined content.
  mutating func buffer(like format: VideoFormat) -> PixelBuffer {
    if let memory = self.memory, memory.format.width == format.width, memory.format.height == format.height {
      return memory
    }
    let buffer = PixelBuffer(format: VideoFormat(width: format.width, height: format.height))
    self.memory = buffer
    return buffer
  }

  /// Returns a copy of a frame.
  mutating func copy(of source: PixelBuffer) -> PixelBuffer {
    let buffer = self.buffer(like: source.format)
    let (from, to) = (Canvas(source).pointers(), Canvas(buffer).pointers())
    _ = I420Copy(
      from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride, to.luma, to.lumaStride,
      to.cb, to.chromaStride, to.cr, to.chromaStride, Int32(source.format.width), Int32(source.format.height))
    return buffer
  }
}
