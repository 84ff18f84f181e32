/// A set of rows of a frame, as a few ranges in ascending order that neither overlap nor touch.
///
/// Rows between two close ranges are included: one larger request is faster than two small ones.
struct RowRanges: Hashable, Sendable {
  /// Maximum number of rows between two ranges that are merged.
  static let maximumGap = 16
  /// Maximum number of ranges; beyond it the two with the smallest gap are merged.
  static let maximumCount = 8

  /// The ranges.
  private(set) var ranges: [Range<Int>] = []

  /// An empty set.
  init() {}

  /// A set of one range.
  init(_ range: Range<Int>) {
    self.insert(range)
  }

  /// Whether the set has no rows.
  var isEmpty: Bool { self.ranges.isEmpty }

  /// The number of rows.
  var count: Int { self.ranges.reduce(0) { $0 + $1.count } }

  /// Adds rows.
  mutating func insert(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    let isNear = { (other: Range<Int>) in
      other.lowerBound - range.upperBound <= Self.maximumGap && range.lowerBound - other.upperBound <= Self.maximumGap
    }
    let near = self.ranges.filter(isNear)
    let merged = near.reduce(range) { min($0.lowerBound, $1.lowerBound)..<max($0.upperBound, $1.upperBound) }
    self.ranges.removeAll(where: isNear)
    self.ranges.insert(merged, at: self.ranges.firstIndex { $0.lowerBound > merged.lowerBound } ?? self.ranges.endIndex)
    guard self.ranges.count > Self.maximumCount else { return }
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
