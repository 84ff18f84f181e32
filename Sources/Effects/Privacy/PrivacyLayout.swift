internal import Media

/// Plan of a complete search of a frame: which model searches which square, in which direction. Pure.
///
/// The frame is scaled once, so that the smallest tiles have the detector's input size; all coordinates are in pixels of
/// that scaled frame.
///
/// Tiles of one size and direction can be placed in steps of a quarter of a tile. The frame is divided into ``cells``, for
/// each of which it is noted when it was last searched, so that few tiles suffice for the part that has changed.
struct PrivacyLayout: Hashable {
  /// A rectangle within the frame.
  struct Area: Hashable {
    var x: Range<Int>
    var y: Range<Int>

    /// The rectangle with a margin, as far as it is in the frame.
    fileprivate func grown(by margin: Int, width: Int, height: Int) -> Area {
      func grown(_ range: Range<Int>, _ limit: Int) -> Range<Int> {
        max(0, range.lowerBound - margin)..<max(0, min(limit, range.upperBound + margin))
      }
      return Area(x: grown(self.x, width), y: grown(self.y, height))
    }
  }

  /// Part of the frame that is searched with tiles of one size, in one direction.
  struct Cell: Hashable {
    /// Part that no other cell of this size and direction has.
    var core: Area
    /// Part in which the smallest faces lie whose center is in ``core``: where it changes, the cell is searched again.
    var reach: Area
    /// Part to cover where the cell was not searched: larger faces exceed ``reach``.
    var cover: Area
    /// Part of ``reach`` from which it is searched again when it has changed, in pixels: a third of the smallest face.
    var tolerance: Float
    /// Whether it is searched in each frame, instead of once for all frames of a round.
    var isImmediate: Bool
  }

  /// One run of a model.
  struct Probe: Hashable {
    var model: FaceModel
    /// The searched square. Squares at the frame's edge exceed it, so that faces are found of which the edge cuts off half.
    var tile: FaceTile
    /// Rotation that makes the faces upright that this run finds best.
    var orientation: Orientation
    /// Minimum score of a face.
    var threshold: Float
    /// Minimum size of a face relative to the square.
    var minimumSize: Float
    /// Indices of the cells that it searches.
    var cells: [Int]
  }

  /// Default of ``minimumFace`` relative to the frame's shorter side: 40 pixels of 720.
  static let defaultMinimumFace: Float = 0.055
  /// Size of the smallest face that is promised to be found, in pixels of the source: of smaller ones too little is left to see.
  static let minimumPixels: Float = 20
  /// Side of the smallest tiles, in sizes of the smallest face: the detector sees it about 25 pixels wide. With 19 it misses
  /// one face of 20, with 22 none, but with a lower score.
  private static let tileFaces: Float = 7.5
  /// Smallest face for the model of near faces, relative to its square; smaller ones are found by the other one.
  private static let nearFace: Float = 0.3
  /// Side of the largest tiles, in shorter sides of the frame.
  private static let maximumTile: Float = 1.3
  /// Ratio of two consecutive tile sizes: the smallest face of one is at most 43% of the next in size.
  private static let maximumStep: Float = 3.3
  /// Overlap of two tiles relative to their side.
  private static let overlap: Float = 0.18
  /// Part of a tile's side by which tiles exceed the frame, at least.
  private static let excess: Float = 0.12
  /// Size of the largest face that the next larger tiles may miss, relative to a tile.
  private static let maximumPart: Float = 0.43
  private static let detectorSide = FaceModel.fullRangeDetector.inputSide
  /// Score of some faces in profile; of half a face at the frame's edge, behind a hand, it is 0.3. See ``CandidateCheck``.
  private static let threshold: Float = 0.2

  /// Number of cells along a tile's side.
  private static let divisions = 4

  /// Size of the scaled frame.
  let width: Int
  let height: Int
  /// Pixels of the frame per pixel of the scaled one.
  let scale: SIMD2<Float>
  /// Size of the smallest face that is searched for, in pixels of the scaled frame.
  let minimumFace: Float
  /// Size of the smallest face that is promised to be found: that, or ``minimumPixels``.
  let promisedFace: Float
  /// All cells, of all sizes and directions.
  private(set) var cells: [Cell] = []
  /// All runs that are possible.
  private(set) var probes: [Probe] = []
  /// Number of runs that search all cells.
  private(set) var completeCount = 0

  /// - Parameters:
  ///   - minimumFace: Smallest face relative to the frame's shorter side.
  ///   - enlargement: Factor by which the source's frame was enlarged.
  init(width: Int, height: Int, minimumFace: Float = Self.defaultMinimumFace, enlargement: Float = 1) {
    let shorter = Float(min(width, height))
    let face = max(4, minimumFace * shorter)
    let smallest = min(shorter, Self.tileFaces * face)
    // Never enlarged.
    let factor = min(1, Float(Self.detectorSide) / smallest)
    self.width = max(2, Int(Float(width) * factor + 0.5) & ~1)
    self.height = max(2, Int(Float(height) * factor + 0.5) & ~1)
    self.scale = SIMD2(Float(width) / Float(self.width), Float(height) / Float(self.height))
    self.minimumFace = face * factor
    self.promisedFace = max(face, Self.minimumPixels * enlargement) * factor

    let side = Int(Self.maximumTile * Float(min(self.width, self.height))) & ~1
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
    let longer = max(self.width, self.height)
    for orientation in Orientation.allCases {
      let near = Probe(
        model: .shortRangeDetector, tile: FaceTile(x: 0, y: 0, side: longer), orientation: orientation, threshold: 0.6,
        minimumSize: Self.nearFace, cells: [])
      func axis(_ length: Int) -> PrivacyAxis { PrivacyAxis(whole: length, side: longer) }
      self.add(
        near, axis(self.width), axis(self.height), face: Self.nearFace * Float(longer),
        isImmediate: orientation == .up)
    }
    for (level, side) in sides.enumerated() {
      func axis(_ length: Int) -> PrivacyAxis {
        PrivacyAxis(length, side: side, excess: Self.excess, overlap: Self.overlap, divisions: Self.divisions)
      }
      let (columns, rows) = (axis(self.width), axis(self.height))
      for orientation in Orientation.allCases {
        let far = Probe(
          model: .fullRangeDetector, tile: FaceTile(x: 0, y: 0, side: side), orientation: orientation,
          threshold: Self.threshold, minimumSize: 0, cells: [])
        self.add(
          far, columns, rows, face: Float(side) / Self.tileFaces, isImmediate: level == 0 && orientation == .up)
      }
    }
  }

  /// Adds the cells and tiles of one size and direction.
  ///
  /// - Parameter face: Size of the smallest face that is found in them, in pixels.
  private mutating func add(
    _ probe: Probe, _ columns: PrivacyAxis, _ rows: PrivacyAxis, face: Float, isImmediate: Bool
  ) {
    let first = self.cells.count
    for row in rows.cells {
      for column in columns.cells {
        let core = Area(x: column, y: row)
        self.cells.append(
          Cell(
            core: core, reach: core.grown(by: Int(face / 2), width: self.width, height: self.height),
            cover: core.grown(
              by: Int(Self.maximumPart / 2 * Float(probe.tile.side)), width: self.width, height: self.height),
            tolerance: face * face * 0.3, isImmediate: isImmediate))
      }
    }
    for row in rows.windows {
      for column in columns.windows {
        var probe = probe
        (probe.tile.x, probe.tile.y) = (column.start, row.start)
        probe.cells = row.cells.flatMap { y in column.cells.map { first + y * columns.cells.count + $0 } }
        self.probes.append(probe)
      }
    }
    self.completeCount += columns.completeCount * rows.completeCount
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
