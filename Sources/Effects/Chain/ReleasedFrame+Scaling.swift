internal import CYUV
package import Codecs
package import Media

extension ReleasedFrame {
  /// The frame in the size of a pool's frames, in their I420 memory, with black bars where the aspect ratio differs. What was
  /// released stays released: the pixels are those of the frame.
  ///
  /// - Returns: Nil when all frames of the pool are in use.
  package func scaled(with pool: VideoFramePool) -> ReleasedFrame? {
    let source = self.frame.format
    // Outputs are I420 and upright.
    guard source.pixelFormat == .i420, self.frame.orientation == .up else { return nil }
    let scaled = pool.frame(at: self.frame.timestamp) { buffer in
      let target = buffer.format
      let (width, height) = source.fittedSize(in: target)
      let (x, y) = ((target.width - width) / 2 & ~1, (target.height - height) / 2 & ~1)
      if width != target.width || height != target.height {
        for plane in 0..<3 {
          buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: plane == 0 ? 16 : 128)
        }
      }
      let (from, to) = (Canvas(self.frame.buffer).pointers(), Canvas(buffer).pointers())
      I420Scale(
        from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride, Int32(source.width),
        Int32(source.height), to.luma + (y * Int(to.lumaStride) + x), to.lumaStride,
        to.cb + (y / 2 * Int(to.chromaStride) + x / 2), to.chromaStride,
        to.cr + (y / 2 * Int(to.chromaStride) + x / 2), to.chromaStride, Int32(width), Int32(height), kFilterBox)
      withExtendedLifetime(self.frame) {}
    }
    guard var scaled else { return nil }
    scaled.captureLatency = self.frame.captureLatency
    return self.replacingFrame(by: scaled)
  }
}
