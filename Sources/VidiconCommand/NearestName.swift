extension String {
  /// The name that was probably meant by this text: one that differs in case, hyphens or underscores alone, or by few mistakes of typing;
  /// nil where none is near.
  ///
  /// - Parameter names: The known names, each with other words for it.
  func nearest(among names: [(name: String, aliases: [String])]) -> String? {
    let text = self.foldedName
    guard !text.isEmpty, text.count <= Self.maximumNameLength else { return nil }
    let nearest = names.flatMap { entry in
      ([entry.name] + entry.aliases).map { (entry.name, text.distance(to: $0.foldedName)) }
    }
    .min { $0.1 < $1.1 }
    guard let nearest, nearest.1 <= max(1, text.count / 4) else { return nil }
    return nearest.0
  }

  /// Maximum length of a text that may be a mistyped name; others are something else.
  private static let maximumNameLength = 40

  /// The name in lower case, of letters and digits alone.
  private var foldedName: [Character] { self.lowercased().filter { $0.isLetter || $0.isNumber }.map { $0 } }
}

extension [Character] {
  /// Number of insertions, removals, replacements and exchanges of neighbors between two texts (optimal string alignment).
  fileprivate func distance(to other: [Character]) -> Int {
    // The rows of the table for the last two characters of this text.
    var (before, row): ([Int], [Int]) = ([], Array<Int>(0...other.count))
    for (index, character) in self.enumerated() {
      var next = [index + 1]
      for (column, candidate) in other.enumerated() {
        var cost = Swift.min(row[column] + (character == candidate ? 0 : 1), row[column + 1] + 1, next[column] + 1)
        if index > 0, column > 0, character == other[column - 1], self[index - 1] == candidate {
          cost = Swift.min(cost, before[column - 1] + 1)
        }
        next.append(cost)
      }
      (before, row) = (row, next)
    }
    return row[other.count]
  }
}
