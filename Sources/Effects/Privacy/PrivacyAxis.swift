/// Cells and positions of tiles along one side of a frame. Pure.
struct PrivacyAxis: Hashable {
  /// A position of a tile.
  struct Window: Hashable {
    /// First pixel of the tile, even.
    var start: Int
    /// Indices of the cells that it searches: with a margin, except at the frame's edge, which it exceeds.
    var cells: Range<Int>
  }

  /// The parts of the side.
  private(set) var cells: [Range<Int>]
  private(set) var windows: [Window]
  /// Minimum number of tiles that search all cells.
  let completeCount: Int

  /// One tile in the middle, larger than the side, with one cell.
  init(whole length: Int, side: Int) {
    self.cells = [0..<length]
    self.windows = [Window(start: Self.middle(length, side), cells: 0..<1)]
    self.completeCount = 1
  }

  /// - Parameters:
  ///   - side: Side of the tiles.
  ///   - excess: Part of a tile's side by which tiles exceed the frame, at least.
  ///   - overlap: Minimum overlap of two tiles relative to their side.
  ///   - divisions: Number of cells along a tile.
  init(_ length: Int, side: Int, excess: Float, overlap: Float, divisions: Int) {
    let places = Self.places(length, side, excess: excess, overlap: overlap)
    // Tiles in these places meet in the middle of their overlaps.
    let ends = zip(places, places.dropFirst()).map { max(0, min(length, ($1 + $0 + side) / 2)) } + [length]
    let cores = zip([0] + ends, ends).map { $0..<max($0, $1) }
    var cells: [Range<Int>] = []
    var windows: [Window] = []
    for (start, core) in zip(places, cores) {
      let count = max(1, min(divisions, core.count / 8))
      windows.append(Window(start: start, cells: cells.count..<cells.count + count))
      for index in 0..<count {
        cells.append(
          core.lowerBound + core.count * index / count..<core.lowerBound + core.count * (index + 1) / count)
      }
    }
    (self.cells, self.completeCount) = (cells, places.count)
    self.windows = windows
    guard let low = places.first, let high = places.last, low < high else { return }
    // Elsewhere with the margin that the closest of these places have.
    let margin = zip(places, places.dropFirst()).map { $0 + side - $1 }.min().map { $0 / 2 } ?? 0
    func searched(from start: Int) -> Range<Int>? {
      let searched = cells.indices.filter {
        (cells[$0].lowerBound == 0 ? start == low : cells[$0].lowerBound - margin >= start)
          && (cells[$0].upperBound == length ? start == high : cells[$0].upperBound + margin <= start + side)
      }
      guard let first = searched.first, let last = searched.last else { return nil }
      return first..<last + 1
    }
    for index in windows.indices {
      guard let more = searched(from: windows[index].start) else { continue }
      let cells = windows[index].cells
      self.windows[index].cells = min(cells.lowerBound, more.lowerBound)..<max(cells.upperBound, more.upperBound)
    }
    for cell in cells {
      let start = max(low, min(high, (cell.lowerBound - margin) / 2 * 2))
      guard !self.windows.contains(where: { $0.start == start }), let cells = searched(from: start) else { continue }
      self.windows.append(Window(start: start, cells: cells))
    }
  }

  private static func middle(_ length: Int, _ side: Int) -> Int { -((side - length) / 2 & ~1) }

  /// First pixels of tiles that cover a length, overlap and exceed it.
  private static func places(_ length: Int, _ side: Int, excess: Float, overlap: Float) -> [Int] {
    let excess = Int(excess * Float(side))
    let step = max(2, Float(side) * (1 - overlap))
    let rest = length + 2 * excess - side
    let count = max(1, Int((Float(rest) / step - 0.08).rounded(.up)) + 1)
    guard count > 1 else { return [Self.middle(length, side)] }
    // Divided by 2 without its sign: even also where it is negative.
    return (0..<count).map { -((excess - rest * $0 / (count - 1)) / 2 * 2) }
  }
}
