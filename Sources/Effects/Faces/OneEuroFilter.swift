#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Keeps the points of a face that does not move from trembling, and lets those of one that does go where they are: a low
/// pass whose limit rises with the speed (Casiez, Roussel, Vogel: 1€ Filter, 2012).
enum OneEuroFilter {
  /// Hertz, at rest.
  private static let minimumCutoff: Float = 2.5
  /// How much the limit rises with each size of the face a second.
  private static let slope: Float = 25

  /// Puts the points after new ones were measured into `result`.
  ///
  /// - Parameters:
  ///   - size: Of the face.
  ///   - speed: Of the face, in its sizes a second.
  ///   - elapsed: Seconds since the old points.
  static func next(
    _ old: [SIMD3<Float>], _ new: [SIMD3<Float>], size: Float, speed: Float, elapsed: Float,
    into result: inout [SIMD3<Float>]
  ) {
    // The memory is there already but for the first time.
    result.removeAll(keepingCapacity: true)
    result.append(contentsOf: new)
    guard old.count == new.count, elapsed < 0.5, elapsed > 0 else { return }
    let common = 1 - expf(-2 * .pi * (self.minimumCutoff + self.slope * speed) * elapsed)
    let unit = 30 / size
    for index in result.indices {
      let change = result[index] - old[index]
      // A point that goes its own way, such as a lip's, need not wait for the face to move.
      let own = unit * (change * change).sum().squareRoot()
      result[index] = old[index] + change * min(1, common + own)
    }
  }
}
