internal import Media
internal import Synchronization

/// Crops each frame and scales the region to the stream's size, with black bars for another aspect ratio.
public final class Crop: VideoEffect {
  private let low: SIMD2<Float>
  private let high: SIMD2<Float>
  private let scratch = Mutex(ScratchFrame())

  /// Creates a crop of a region, as fractions of the frame: the whole frame is (0, 0), 1 wide and 1 high. The region
  /// is clamped to the frame; with an empty region the frame is unchanged.
  public init(x: Float, y: Float, width: Float, height: Float) {
    self.low = SIMD2(x, y)
    self.high = SIMD2(x + width, y + height)
  }

  /// Scales the region to the frame's size.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let canvas = Canvas(frame.buffer)
    let size = SIMD2(Float(canvas.width), Float(canvas.height))
    guard let area = canvas.area(from: self.low * size, to: self.high * size) else { return .keep }
    let copy = self.scratch.withLock { $0.copy(of: frame.buffer) }
    canvas.place(Canvas(copy), area)
    return .keep
  }
}
