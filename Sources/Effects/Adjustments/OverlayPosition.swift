/// Position of an overlay in a frame.
public enum OverlayPosition: String, Hashable, Sendable, CaseIterable {
  /// Top left corner.
  case topLeft = "top-left"
  /// Center of the top edge.
  case top
  /// Top right corner.
  case topRight = "top-right"
  /// Center of the left edge.
  case left
  /// Center of the frame.
  case center
  /// Center of the right edge.
  case right
  /// Bottom left corner.
  case bottomLeft = "bottom-left"
  /// Center of the bottom edge.
  case bottom
  /// Bottom right corner.
  case bottomRight = "bottom-right"

  /// Top left corner of an overlay at this position.
  ///
  /// - Parameters:
  ///   - size: Width and height of the overlay.
  ///   - margin: Distance from the frame's edges.
  func corner(size: SIMD2<Float>, in frameSize: SIMD2<Float>, margin: Float) -> SIMD2<Float> {
    let free = frameSize - size
    let (x, y): (Float, Float) =
      switch self {
      case .topLeft: (0, 0)
      case .top: (0.5, 0)
      case .topRight: (1, 0)
      case .left: (0, 0.5)
      case .center: (0.5, 0.5)
      case .right: (1, 0.5)
      case .bottomLeft: (0, 1)
      case .bottom: (0.5, 1)
      case .bottomRight: (1, 1)
      }
    let part = SIMD2(x, y)
    return free * part + margin * (1 - 2 * part)
  }
}
