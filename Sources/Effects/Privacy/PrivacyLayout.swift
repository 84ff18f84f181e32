internal import Media

/// Areas of a frame that a complete search consists of: which model searches which square, in which direction. Pure.
///
/// The frame is scaled once, so that the smallest tiles have the detector's input size; all coordinates are in pixels of
/// that scaled frame.
struct PrivacyLayout: Hashable {
  /// One run of a model.
  struct Probe: Hashable {
    var model: FaceModel
    /// The searched square. It exceeds the frame where the whole frame is searched at once.
    var tile: FaceTile
    /// Rotation that makes the faces upright that this run finds best.
    var orientation: Orientation
    /// Whether it runs for each frame, instead of once for all frames of a round.
    var isImmediate: Bool
    /// Minimum score of a face.
    var threshold: Float
    /// Minimum size of a face relative to the square.
    var minimumSize: Float
    /// Number of changed blocks from which the square is searched again.
    var tolerance: Int
  }

  /// Default of ``minimumFace`` relative to the frame's height: 40 pixels of 720.
  static let defaultMinimumFace: Float = 0.055
  /// Side of the smallest tiles, in sizes of the smallest face: the detector sees it about 25 pixels wide. With 19 it misses
  /// one face of 20, with 22 none, but with a lower score.
  private static let tileFaces: Float = 7.5
  /// Ratio of two consecutive tile sizes: a face that is small in one fills at most a third of the next.
  private static let maximumStep: Float = 3
  /// Overlap of two tiles relative to their side.
  private static let overlap: Float = 0.18
  private static let detectorSide = FaceModel.fullRangeDetector.inputSide
  /// Score of half a face at the frame's edge, behind a hand.
  private static let threshold: Float = 0.3

  /// Size of the scaled frame.
  let width: Int
  let height: Int
  /// Pixels of the frame per pixel of the scaled one.
  let scale: SIMD2<Float>
  /// Size of the smallest face that is promised to be found, in pixels of the scaled frame.
  let minimumFace: Float
  let probes: [Probe]

  /// - Parameter minimumFace: Smallest face relative to the frame's height.
  init(width: Int, height: Int, minimumFace: Float = Self.defaultMinimumFace) {
    let shorter = Float(min(width, height))
    let face = max(4, minimumFace * Float(height))
    let smallest = min(shorter, Self.tileFaces * face)
    // Never enlarged.
    let factor = min(1, Float(Self.detectorSide) / smallest)
    self.width = max(2, Int(Float(width) * factor + 0.5) & ~1)
    self.height = max(2, Int(Float(height) * factor + 0.5) & ~1)
    self.scale = SIMD2(Float(width) / Float(self.width), Float(height) / Float(self.height))
    self.minimumFace = face * factor

    let side = min(self.width, self.height)
    var sides = [side]
    let ratio = Float(side) / max(2, smallest * factor)
    if ratio > 1.15 {
      var steps = 1
      while Self.power(Self.maximumStep, steps) < ratio { steps += 1 }
      for step in 1...steps {
        let last = max(2, Int(smallest * factor + 0.5) & ~1)
        sides.append(step == steps ? last : Int(Float(side) / Self.root(ratio, step, of: steps)) & ~1)
      }
    }
    var probes: [Probe] = []
    let longer = max(self.width, self.height)
    let whole = FaceTile(x: -((longer - self.width) / 4 * 2), y: -((longer - self.height) / 4 * 2), side: longer)
    for orientation in Orientation.allCases {
      probes.append(
        Probe(
          model: .shortRangeDetector, tile: whole, orientation: orientation, isImmediate: orientation == .up,
          threshold: 0.6, minimumSize: 0.2, tolerance: 4))
    }
    for (level, side) in sides.enumerated() {
      for orientation in Orientation.allCases {
        for y in Self.places(self.height, side) {
          for x in Self.places(self.width, side) {
            probes.append(
              Probe(
                model: .fullRangeDetector, tile: FaceTile(x: x, y: y, side: side), orientation: orientation,
                isImmediate: level == 0 && orientation == .up, threshold: Self.threshold, minimumSize: 0,
                tolerance: level == 0 ? 4 : 2))
          }
        }
      }
    }
    self.probes = probes
  }

  /// First pixels of tiles that cover a length and overlap.
  private static func places(_ length: Int, _ side: Int) -> [Int] {
    guard length > side else { return [0] }
    let step = max(2, Float(side) * (1 - Self.overlap))
    let count = Int((Float(length - side) / step - 0.02).rounded(.up)) + 1
    guard count > 1 else { return [0, (length - side) & ~1] }
    return (0..<count).map { (length - side) * $0 / (count - 1) & ~1 }
  }

  private static func power(_ base: Float, _ exponent: Int) -> Float {
    (0..<exponent).reduce(Float(1)) { result, _ in result * base }
  }

  /// `value` to the power of `step / count`.
  private static func root(_ value: Float, _ step: Int, of count: Int) -> Float {
    // Bisection: the result is between 1 and the value.
    var (low, high) = (Float(1), value)
    let target = Self.power(value, step)
    for _ in 0..<40 {
      let middle = (low + high) / 2
      if Self.power(middle, count) < target { low = middle } else { high = middle }
    }
    return low
  }
}
