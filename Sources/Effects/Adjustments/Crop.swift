internal import Media
internal import Synchronization

/// Shows a part of each frame in the stream's size; where its shape is another one, between black bars.
public final class Crop: VideoEffect {
  private let low: SIMD2<Float>
  private let high: SIMD2<Float>
  private let scratch = Mutex(ScratchFrame())

  /// An effect that shows a part, in shares of the frame: all of it is from (0, 0), 1 wide and 1 high. What reaches beyond
  /// the frame is left out; where nothing is left the frame stays whole.
  public init(x: Float, y: Float, width: Float, height: Float) {
    self.low = SIMD2(x, y)
    self.high = SIMD2(x + width, y + height)
  }

  /// Enlarges the part.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let canvas = Canvas(frame.buffer)
    let size = SIMD2(Float(canvas.width), Float(canvas.height))
    guard let area = canvas.area(from: self.low * size, to: self.high * size) else { return .keep }
    let copy = self.scratch.withLock { $0.copy(of: frame.buffer) }
    canvas.place(Canvas(copy), area)
    return .keep
  }
}
