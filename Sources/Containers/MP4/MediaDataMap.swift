/// Maps positions in the media data of a movie, as if its fragments' data followed one another, to offsets in a file.
struct MediaDataMap {
  /// First position of each range, ascending.
  private var positions: [UInt64] = []
  /// Offset of each range in the file.
  private var offsets: [UInt64] = []

  /// Media data in one piece.
  init(startingAt offset: UInt64) {
    self.positions = [0]
    self.offsets = [offset]
  }

  /// Media data in the ranges of a fragmented file.
  init(_ ranges: [Range<UInt64>]) {
    var position: UInt64 = 0
    for range in ranges {
      self.positions.append(position)
      self.offsets.append(range.lowerBound)
      position += range.upperBound - range.lowerBound
    }
  }

  /// Offset in the file of a position.
  func offset(of position: UInt64) -> UInt64 {
    var (low, high) = (0, self.positions.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if self.positions[middle] <= position { low = middle } else { high = middle }
    }
    // Positions come from the same ranges.
    return self.positions.isEmpty ? position : self.offsets[low] + (position - self.positions[low])
  }
}
