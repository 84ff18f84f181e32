internal import Media

/// Draws a box around each face that a ``FaceTracker`` earlier in the chain has found; thicker around smiling faces.
public final class FaceBoxes: VideoEffect {
  private let color: FrameColor

  /// Creates an effect that draws boxes of one color.
  public init(color: FrameColor = FrameColor(red: 80, green: 220, blue: 80)) {
    self.color = color
  }

  /// Draws a box around each face of the frame's metadata.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let canvas = Canvas(frame.buffer)
    for face in frame.metadata.faces {
      let line: Float = face.isSmiling ? 4 : 2
      let low = SIMD2(face.box.x, face.box.y), high = low + SIMD2(face.box.width, face.box.height)
      func fill(from: SIMD2<Float>, to: SIMD2<Float>) {
        if let area = canvas.area(from: from, to: to) { canvas.fill(area, self.color) }
      }
      fill(from: low, to: SIMD2(high.x, low.y + line))
      fill(from: SIMD2(low.x, high.y - line), to: high)
      fill(from: low, to: SIMD2(low.x + line, high.y))
      fill(from: SIMD2(high.x - line, low.y), to: high)
    }
    return .keep
  }
}
