internal import CYUV
public import Media
internal import Synchronization

/// Rotates frames. The stream's size does not change: after a quarter turn the frame is scaled to fit, with black
/// bars.
public final class Rotate: VideoEffect {
  private let orientation: Orientation
  private let scratch = Mutex((copy: ScratchFrame(), turned: PixelBuffer?.none))

  /// Creates an effect that rotates frames clockwise.
  public init(_ orientation: Orientation) {
    self.orientation = orientation
  }

  /// Rotates the frame, through a copy whose memory is reused; `up` leaves the frame unchanged.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let mode: RotationModeEnum
    switch self.orientation {
    case .up: return .keep
    case .right: mode = kRotate90
    case .down: mode = kRotate180
    case .left: mode = kRotate270
    }
    let (canvas, format) = (Canvas(frame.buffer), frame.buffer.format)
    self.scratch.withLock { scratch in
      if self.orientation == .down {
        Self.turn(Canvas(scratch.copy.copy(of: frame.buffer)), into: canvas, mode)
        return
      }
      let turned =
        if let memory = scratch.turned, memory.format.width == format.height, memory.format.height == format.width {
          memory
        } else {
          PixelBuffer(format: VideoFormat(width: format.height, height: format.width))
        }
      scratch.turned = turned
      Self.turn(canvas, into: Canvas(turned), mode)
      canvas.place(Canvas(turned), FrameRegion(width: format.height, height: format.width))
    }
    return .keep
  }

  private static func turn(_ source: Canvas, into target: Canvas, _ mode: RotationModeEnum) {
    let (from, to) = (source.pointers(), target.pointers())
    _ = I420Rotate(
      from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride, to.luma, to.lumaStride,
      to.cb, to.chromaStride, to.cr, to.chromaStride, Int32(source.width), Int32(source.height), mode)
  }
}
