/// Where in a frame something is drawn.
public enum OverlayPosition: String, Hashable, Sendable, CaseIterable {
  /// In the left top corner.
  case topLeft = "top-left"
  /// At the upper edge, in its middle.
  case top
  /// In the right top corner.
  case topRight = "top-right"
  /// At the left edge, in its middle.
  case left
  /// In the middle.
  case center
  /// At the right edge, in its middle.
  case right
  /// In the left bottom corner.
  case bottomLeft = "bottom-left"
  /// At the lower edge, in its middle.
  case bottom
  /// In the right bottom corner.
  case bottomRight = "bottom-right"

  /// The left top corner of what is drawn.
  ///
  /// - Parameters:
  ///   - size: Its width and height.
  ///   - margin: How far it stays away from the frame's edges.
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
