internal import Libc

/// Smooths the points of a face at rest without delaying those of a moving face: a low-pass filter whose cutoff
/// frequency rises with the speed (Casiez, Roussel, Vogel: 1€ Filter, 2012).
enum OneEuroFilter {
  /// Cutoff frequency at rest, in hertz.
  private static let minimumCutoff: Float = 2.5
  /// Increase of the cutoff frequency per size of the face per second.
  private static let slope: Float = 25

  /// Writes the filtered points into `result`.
  ///
  /// - Parameters:
  ///   - size: Size of the face, in pixels.
  ///   - speed: Speed of the face, in its sizes per second.
  ///   - elapsed: Seconds since the previous points.
  static func next(
    _ old: [SIMD3<Float>], _ new: [SIMD3<Float>], size: Float, speed: Float, elapsed: Float,
    into result: inout [SIMD3<Float>]
  ) {
    // Allocates on the first call only.
    result.removeAll(keepingCapacity: true)
    result.append(contentsOf: new)
    guard old.count == new.count, elapsed < 0.5, elapsed > 0 else { return }
    let common = 1 - expf(-2 * .pi * (self.minimumCutoff + self.slope * speed) * elapsed)
    let unit = 30 / size
    for index in result.indices {
      let change = result[index] - old[index]
      // Points that move on their own, such as lips, use their own speed.
      let own = unit * (change * change).sum().squareRoot()
      result[index] = old[index] + change * min(1, common + own)
    }
  }
}
