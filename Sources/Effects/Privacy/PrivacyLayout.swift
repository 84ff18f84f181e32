internal import Media

/// Areas of a frame that a complete search consists of: which model searches which square, in which direction. Pure.
///
/// The frame is scaled once, so that the smallest tiles have the detector's input size; all coordinates are in pixels of
/// that scaled frame.
struct PrivacyLayout: Hashable {
  /// A rectangle within the frame.
  struct Area: Hashable {
    var x: Range<Int>
    var y: Range<Int>
  }

  /// One run of a model.
  struct Probe: Hashable {
    var model: FaceModel
    /// The searched square. Squares at the frame's edge exceed it, so that faces are found of which the edge cuts off half.
    var tile: FaceTile
    /// Part of the frame that this square is responsible for: the others of its size have the rest. What changes here is
    /// searched again.
    var core: Area
    /// Rotation that makes the faces upright that this run finds best.
    var orientation: Orientation
    /// Whether it runs for each frame, instead of once for all frames of a round.
    var isImmediate: Bool
    /// Minimum score of a face.
    var threshold: Float
    /// Minimum size of a face relative to the square.
    var minimumSize: Float
    /// Part of ``core`` from which it is searched again when it has changed, in pixels: a third of the smallest face.
    var tolerance: Float
  }

  /// Default of ``minimumFace`` relative to the frame's height: 40 pixels of 720.
  static let defaultMinimumFace: Float = 0.055
  /// Side of the smallest tiles, in sizes of the smallest face: the detector sees it about 25 pixels wide. With 19 it misses
  /// one face of 20, with 22 none, but with a lower score.
  private static let tileFaces: Float = 7.5
  /// Smallest face for the model of near faces, relative to its square; smaller ones are found by the other one.
  private static let nearFace: Float = 0.3
  /// Side of the largest tiles, in shorter sides of the frame.
  private static let largestTile: Float = 1.3
  /// Ratio of two consecutive tile sizes: the smallest face of one is at most 43% of the next in size.
  private static let maximumStep: Float = 3.3
  /// Overlap of two tiles relative to their side.
  private static let overlap: Float = 0.18
  /// Part of a tile's side by which tiles exceed the frame, at least.
  private static let excess: Float = 0.12
  private static let detectorSide = FaceModel.fullRangeDetector.inputSide
  /// Score of half a face at the frame's edge, behind a hand; see ``CandidateCheck``.
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

    let side = Int(Self.largestTile * Float(min(self.width, self.height))) & ~1
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
          model: .shortRangeDetector, tile: whole, core: Area(x: 0..<self.width, y: 0..<self.height),
          orientation: orientation, isImmediate: orientation == .up, threshold: 0.6, minimumSize: Self.nearFace,
          tolerance: Self.tolerance(Self.nearFace * Float(longer))))
    }
    for (level, side) in sides.enumerated() {
      let rows = Self.places(self.height, side), columns = Self.places(self.width, side)
      for orientation in Orientation.allCases {
        for (y, rowCore) in zip(rows, Self.cores(rows, side, self.height)) {
          for (x, columnCore) in zip(columns, Self.cores(columns, side, self.width)) {
            probes.append(
              Probe(
                model: .fullRangeDetector, tile: FaceTile(x: x, y: y, side: side),
                core: Area(x: columnCore, y: rowCore), orientation: orientation,
                isImmediate: level == 0 && orientation == .up, threshold: Self.threshold, minimumSize: 0,
                tolerance: Self.tolerance(Float(side) / Self.tileFaces)))
          }
        }
      }
    }
    self.probes = probes
  }

  /// First pixels of tiles that cover a length, overlap and exceed it.
  private static func places(_ length: Int, _ side: Int) -> [Int] {
    let excess = Int(Self.excess * Float(side))
    let step = max(2, Float(side) * (1 - Self.overlap))
    let rest = length + 2 * excess - side
    let count = max(1, Int((Float(rest) / step - 0.08).rounded(.up)) + 1)
    // Divided by 2 without its sign: even also where it is negative.
    guard count > 1 else { return [-((side - length) / 2 & ~1)] }
    return (0..<count).map { -((excess - rest * $0 / (count - 1)) / 2 * 2) }
  }

  /// The parts of a length that tiles are responsible for: they meet in the middle of the tiles' overlaps.
  private static func cores(_ places: [Int], _ side: Int, _ length: Int) -> [Range<Int>] {
    let ends = zip(places, places.dropFirst()).map { max(0, min(length, ($1 + $0 + side) / 2)) } + [length]
    return zip([0] + ends, ends).map { $0..<max($0, $1) }
  }

  private static func tolerance(_ face: Float) -> Float { face * face * 0.3 }

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
