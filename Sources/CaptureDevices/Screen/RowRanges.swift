/// Rows of a picture, as a few ranges in ascending order that neither overlap nor touch.
///
/// Rows that lie between two ranges close to each other are taken in: one larger request is quicker than two small ones.
struct RowRanges: Hashable, Sendable {
  /// Ranges that are at most this many rows apart become one.
  static let nearness = 16
  /// The most ranges; beyond that those with the fewest rows between them become one.
  static let limit = 8

  /// The ranges.
  private(set) var ranges: [Range<Int>] = []

  /// No rows.
  init() {}

  /// The rows of one range.
  init(_ range: Range<Int>) {
    self.insert(range)
  }

  /// Whether there are none.
  var isEmpty: Bool { self.ranges.isEmpty }

  /// The number of rows.
  var count: Int { self.ranges.reduce(0) { $0 + $1.count } }

  /// Adds rows.
  mutating func insert(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    let isNear = { (other: Range<Int>) in
      other.lowerBound - range.upperBound <= Self.nearness && range.lowerBound - other.upperBound <= Self.nearness
    }
    let near = self.ranges.filter(isNear)
    let merged = near.reduce(range) { min($0.lowerBound, $1.lowerBound)..<max($0.upperBound, $1.upperBound) }
    self.ranges.removeAll(where: isNear)
    self.ranges.insert(merged, at: self.ranges.firstIndex { $0.lowerBound > merged.lowerBound } ?? self.ranges.endIndex)
    guard self.ranges.count > Self.limit else { return }
    let gaps = zip(self.ranges.dropFirst(), self.ranges).map { $0.lowerBound - $1.upperBound }
    if let index = gaps.indices.min(by: { gaps[$0] < gaps[$1] }) {
      self.ranges[index] = self.ranges[index].lowerBound..<self.ranges[index + 1].upperBound
      self.ranges.remove(at: index + 1)
    }
  }

  /// Adds the rows of another set.
  mutating func formUnion(_ other: RowRanges) {
    for range in other.ranges { self.insert(range) }
  }
}
