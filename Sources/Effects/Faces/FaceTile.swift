/// Square of a frame that a detector searches, in pixels.
public struct FaceTile: Hashable, Sendable {
  /// Left column, even.
  public var x: Int
  /// Top row, even.
  public var y: Int
  /// Width and height.
  public var side: Int

  /// Creates a tile.
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
