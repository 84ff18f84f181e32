internal import Media

extension FaceCandidate {
  /// Where a candidate of a square that was turned lies in the square as it was; in units of it, 0 to 1.
  func turnedBack(_ orientation: Orientation) -> FaceCandidate {
    func back(_ point: SIMD2<Float>) -> SIMD2<Float> {
      switch orientation {
      case .up: point
      // Clockwise, (x, y) has become (1 - y, x).
      case .right: SIMD2(point.y, 1 - point.x)
      case .down: 1 - point
      case .left: SIMD2(1 - point.y, point.x)
      }
    }
    var turned = self
    turned.center = back(self.center)
    turned.keyPoints = self.keyPoints.mapped(back)
    if orientation.swapsWidthAndHeight { turned.size = SIMD2(self.size.y, self.size.x) }
    return turned
  }
}
