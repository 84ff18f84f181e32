/// First words of comments.
extension SourceRules {
  /// Words that name nothing: a documentation comment that begins with one makes its reader guess the subject.
  private static let riddles: Set<String> = [
    "As", "How", "It", "Its", "Nothing", "Since", "Such", "That", "These", "This", "Those", "What", "Whatever",
    "When", "Whenever", "Where", "Wherever", "Which", "Who", "Whoever", "Whose",
  ]

  /// The words among them with which other comments do not begin either; the rest may refer to the code around them.
  private static let riddlesOfRemarks: Set<String> = [
    "How", "It", "Nothing", "That", "These", "Those", "What", "When", "Where", "Which", "Who",
  ]

  /// Verbs that are true of almost every function, with some that say what it does.
  private static let vagueVerbs: [String: String] = [
    "Handles": "processes, responds to, begins, ends", "Notes": "records, counts, adds, keeps",
    "Takes": "adopts, stores, sets, removes and returns",
  ]

  /// A comment that begins its line begins with the thing that it is about, or with what a function does.
  static func firstWords(of text: CommentText) -> [Violation] {
    text.comments.compactMap { comment in
      guard let kind = comment.opening else { return nil }
      let word = comment.firstWord
      func violation(_ message: String) -> Violation {
        Violation(path: text.path, line: comment.number, message: "\(message): \(comment.content)")
      }
      if let verbs = Self.vagueVerbs[word] {
        return violation("\"\(word)\" says nothing; write what is done, such as \(verbs)")
      }
      let riddles = kind == .documentation ? Self.riddles : Self.riddlesOfRemarks
      return riddles.contains(word) ? violation("a riddle; name the thing instead of \"\(word)\"") : nil
    }
  }
}
