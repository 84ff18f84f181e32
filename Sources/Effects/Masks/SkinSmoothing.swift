internal import Media
internal import Synchronization

/// Smooths the skin of each face that a ``FaceTracker`` earlier in the chain has found, and preserves the edges of
/// eyes, mouth and outline.
public final class SkinSmoothing: VideoEffect {
  private let strength: Float
  private let painter = Mutex(ShapePainter())

  /// Creates an effect of constant strength.
  ///
  /// - Parameter strength: 0 (no effect) to 1.
  public init(strength: Float) {
    self.strength = strength
  }

  /// Smooths the skin of each face of the frame's metadata.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    guard self.strength > 0 else { return .keep }
    let canvas = Canvas(frame.buffer)
    self.painter.withLock { painter in
      for face in frame.metadata.faces {
        painter.paint(FaceOutline(face, .face).shape(.oval, isSoft: true), .smooth(self.strength), on: canvas)
      }
    }
    return .keep
  }
}
