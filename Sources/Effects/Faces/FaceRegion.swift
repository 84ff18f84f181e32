internal import Libc

/// Square of a frame that a detector searches, in pixels.
public struct FaceTile: Hashable, Sendable {
  /// Left column in pixels of the frame, even.
  public var x: Int
  /// Top row in pixels of the frame, even.
  public var y: Int
  /// Width and height in pixels.
  public var side: Int

  /// Creates a tile from its top left corner and its side, in pixels.
  public init(x: Int, y: Int, side: Int) {
    self.x = x
    self.y = y
    self.side = side
  }

  /// Squares that cover a frame: as large as its shorter side, each overlapping the next by at least a fifth, so that
  /// a face between two is mostly in one. Two for a frame of 1280 × 720.
  public static func covering(width: Int, height: Int) -> [FaceTile] {
    let (side, length) = (min(width, height), max(width, height))
    guard side > 0 else { return [] }
    // Rounded up: the overlap is 4 / 20 of the side, so each further tile adds 16 / 20.
    let count = max(1, (20 * length - 4 * side + 16 * side - 1) / (16 * side))
    return (0..<count).map { index in
      let place = count == 1 ? 0 : (length - side) * index / (count - 1) / 2 * 2
      return FaceTile(x: width > height ? place : 0, y: width > height ? 0 : place, side: side)
    }
  }
}

/// Rotated square of a frame that shows a face upright, in pixels: the input of a mesh model.
public struct FaceRegion: Hashable, Sendable {
  /// Center of the square: column and row, in pixels.
  public var center: SIMD2<Float>
  /// Width and height of the square, in pixels.
  public var side: Float
  /// Clockwise rotation of the square, in radians.
  public var roll: Float

  /// Creates a region; lengths are in pixels, the clockwise rotation `roll` in radians.
  public init(center: SIMD2<Float>, side: Float, roll: Float) {
    self.center = center
    self.side = side
    self.roll = roll
  }

  /// Size of the region relative to the face's box: the models were trained with this margin.
  private static let margin: Float = 1.5

  /// Creates the region of a detected face.
  public init(_ candidate: FaceCandidate) {
    self.init(center: candidate.center, side: candidate.size.max() * Self.margin, roll: candidate.roll)
  }

  /// Creates the region of a face from its mesh in the previous frame, in pixels of the frame.
  public init(_ mesh: FaceMesh) {
    let roll = mesh.roll
    let upright = FaceRegion(center: SIMD2(0, 0), side: 1, roll: roll)
    // Bounding box along the rotated axes.
    var low = SIMD2<Float>(repeating: .infinity)
    var high = -low
    for point in mesh.points {
      let place = SIMD2((upright.right * SIMD2(point.x, point.y)).sum(), (upright.down * SIMD2(point.x, point.y)).sum())
      low = pointwiseMin(low, place)
      high = pointwiseMax(high, place)
    }
    let middle = (low + high) / 2
    self.init(
      center: upright.right * middle.x + upright.down * middle.y, side: (high - low).max() * Self.margin, roll: roll)
  }

  /// Unit vectors, in the frame, along the region's rows and columns.
  var right: SIMD2<Float> { SIMD2(cosf(self.roll), sinf(self.roll)) }
  var down: SIMD2<Float> { SIMD2(-sinf(self.roll), cosf(self.roll)) }
}
