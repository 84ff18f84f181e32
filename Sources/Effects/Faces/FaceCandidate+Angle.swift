#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

extension FaceCandidate {
  /// The angle of a direction, 0 to the right, positive downwards.
  static func angle(_ direction: SIMD2<Float>) -> Float {
    atan2f(direction.y, direction.x)
  }
}
