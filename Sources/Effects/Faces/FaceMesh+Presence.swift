#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

extension FaceMesh {
  /// The share, 0 to 1, that belongs to the logarithm of odds.
  static func share(_ logit: Float) -> Float { 1 / (1 + expf(-logit)) }
}
