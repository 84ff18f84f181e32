/// Sound cards by a part of their names.
enum CardNames {
  /// The names that hold a text, in upper or lower case; only the one that is equal to it where there is one.
  static func indices(of text: String, in names: [String]) -> [Int] {
    let text = text.lowercased()
    guard !text.isEmpty else { return [] }
    let names = names.map { $0.lowercased() }
    let equal = names.indices.filter { names[$0] == text }
    return equal.isEmpty ? names.indices.filter { names[$0].contains(text) } : equal
  }
}
