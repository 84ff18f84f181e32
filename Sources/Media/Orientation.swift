/// How a picture must be turned to stand upright: the clockwise rotation that a viewer applies.
public enum Orientation: Int, Hashable, Sendable, CaseIterable {
  /// Upright as it is.
  case up = 0
  /// To be turned a quarter clockwise.
  case right = 90
  /// To be turned upside down.
  case down = 180
  /// To be turned a quarter anticlockwise.
  case left = 270

  /// Whether width and height change places when the picture is turned upright.
  public var swapsWidthAndHeight: Bool {
    self == .left || self == .right
  }
}
