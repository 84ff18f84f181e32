/// Results of comparisons that are remembered: a bounded number of marks, the oldest of which is dropped for a further one.
struct RecentMarks {
  /// Maximum number of marks.
  static let maximumCount = 256

  private var marks: [[UInt8]] = []

  /// Whether a mark is remembered.
  func contains(_ mark: [UInt8]) -> Bool { self.marks.contains(mark) }

  /// Remembers a mark.
  mutating func insert(_ mark: [UInt8]) {
    guard !self.contains(mark) else { return }
    if self.marks.count >= Self.maximumCount { self.marks.removeFirst() }
    self.marks.append(mark)
  }
}
