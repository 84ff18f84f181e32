internal import CYUV
internal import Media
internal import Synchronization

/// Mirrors each frame horizontally: exchanges left and right.
public final class Mirror: VideoEffect {
  private let scratch = Mutex(ScratchFrame())

  /// Creates an effect that mirrors every frame.
  public init() {}

  /// Exchanges left and right of the frame, through a copy whose memory is reused.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let copy = self.scratch.withLock { $0.copy(of: frame.buffer) }
    let (from, to, format) = (Canvas(copy).pointers(), Canvas(frame.buffer).pointers(), frame.buffer.format)
    _ = I420Mirror(
      from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride, to.luma, to.lumaStride,
      to.cb, to.chromaStride, to.cr, to.chromaStride, Int32(format.width), Int32(format.height))
    return .keep
  }
}
