/// The comments of a source file, line by line; of Swift and JavaScript tests also the names.
struct CommentText: Sendable {
  /// A line of a comment, or the name of a test.
  struct Line: Sendable {
    /// Line number, counted from 1.
    var number: Int
    /// The text, with the marks of the comment.
    var text: Substring
    /// Kind of the comment whose first words the line has; nil for other lines, for comments behind code, for names and for
    /// Markdown.
    var opening: Kind?

    /// The text without the marks of the comment.
    var content: Substring {
      let text = self.text.drop(while: Self.marks.contains)
      guard text.hasPrefix(CommentText.sectionMark) else { return text }
      return text.dropFirst(CommentText.sectionMark.count).drop(while: Self.marks.contains)
    }

    /// The word with which the text begins; empty where it begins with another character.
    var firstWord: String { String(self.content.prefix(while: \.isLetter)) }

    private static let marks: Set<Character> = ["/", "*", "#", "\"", "!", "-", " ", "\t"]
  }

  /// Kind of a comment that begins its line.
  enum Kind: Sendable {
    /// `///`, `/** */`, a docstring, or the title of a section.
    case documentation
    /// Any other comment.
    case remark
  }

  fileprivate static let sectionMark = "MARK:"

  /// Comment syntax of a language.
  enum Syntax {
    /// `//` and `/* */`: Swift, C, JavaScript, CSS.
    case slashes
    /// `#`: shell scripts, configuration files.
    case hash
    /// `#` and docstrings.
    case python
    /// Every line outside code blocks, without code in backquotes.
    case markdown
    /// No comments: decisions keep the words of their date.
    case none
  }

  /// Path below the repository's root.
  let path: String
  /// Comments, in the order of their lines.
  private(set) var comments: [Line] = []

  init(path: String, text: String) {
    self.path = path
    let syntax = Self.syntax(of: path)
    // Whether a line is in a block comment, and in a string that is none.
    var (isInBlock, isInString) = (false, false)
    // Mark of the comment that the previous line has, and kind of the comment whose first words are still to come.
    var lastMark: String?
    var opening: Kind?
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if !isInBlock, !isInString {
        let mark = Self.mark(of: line, syntax)
        // A block comment ends with its lines; other comments continue below each other.
        if mark?.isBlock == true || mark?.text != lastMark { opening = mark?.kind }
        lastMark = mark?.text
      }
      let comment: Substring? =
        switch syntax {
        case .slashes: Self.slashComment(line, isInBlock: &isInBlock) ?? Self.name(line)
        case .hash: Self.hashComment(line)
        case .python: Self.pythonComment(line, isInBlock: &isInBlock, isInString: &isInString)
        case .markdown: Self.prose(line, isInBlock: &isInBlock)
        case .none: nil
        }
      guard let comment else { continue }
      var found = Line(number: index + 1, text: comment, opening: nil)
      if !found.content.isEmpty { found.opening = opening.take() }
      self.comments.append(found)
    }
  }

  /// A mark with which a comment begins its line, the comment's kind, and whether its further lines have no mark.
  private typealias Mark = (text: String, kind: Kind, isBlock: Bool)

  private static let slashMarks: [Mark] = [
    // Each title of a section is a comment of its own.
    ("// " + sectionMark, .documentation, true), ("///", .documentation, false), ("//", .remark, false),
    ("/**", .documentation, true), ("/*", .remark, true),
  ]
  private static let hashMarks: [Mark] = [("#", .remark, false)]
  private static let pythonMarks: [Mark] = [("#", .remark, false), ("\"\"\"", .documentation, true)]

  /// The mark of the comment that begins a line; nil for a line with none.
  private static func mark(of line: Substring, _ syntax: Syntax) -> Mark? {
    let marks: [Mark] =
      switch syntax {
      case .slashes: Self.slashMarks
      case .hash: Self.hashMarks
      case .python: Self.pythonMarks
      case .markdown, .none: []
      }
    let text = line.drop(while: \.isWhitespace)
    return marks.first { text.hasPrefix($0.text) }
  }

  private static func syntax(of path: String) -> Syntax {
    let name = path.split(separator: "/").last ?? ""
    switch name.split(separator: ".", omittingEmptySubsequences: false).last {
    case "swift", "c", "h", "inc", "js", "mjs", "css", "modulemap": return .slashes
    case "py": return .python
    case "md": return path.contains("/decisions/") ? .none : .markdown
    default: return .hash
    }
  }

  /// A comment to the end of the line, or a line of a block comment. `://` begins no comment: it is part of a URL.
  private static func slashComment(_ line: Substring, isInBlock: inout Bool) -> Substring? {
    if isInBlock || line.drop(while: \.isWhitespace).hasPrefix("/*") {
      isInBlock = !line.has("*/")
      return line
    }
    guard line.has("//") else { return nil }
    return line.ranges(of: "//").first { range in
      range.lowerBound == line.startIndex || line[line.index(before: range.lowerBound)] != ":"
    }.map { line[$0.lowerBound...] }
  }

  /// The name of a test or a suite.
  private static func name(_ line: Substring) -> Substring? {
    let prefixes = ["func `", "@Suite(\"", "  test(\"", "test(\"", "describe(\""]
    guard let prefix = prefixes.first(where: line.has), let start = line.firstRange(of: prefix)?.upperBound else {
      return nil
    }
    return line[start...].prefix { $0 != "`" && $0 != "\"" }
  }

  /// A comment that begins the line, or follows code after two spaces.
  private static func hashComment(_ line: Substring) -> Substring? {
    let text = line.drop(while: \.isWhitespace)
    if text.hasPrefix("#"), !text.hasPrefix("#!") { return text }
    return line.firstRange(of: "  # ").map { line[$0.lowerBound...] }
  }

  /// A line of Markdown that is not in a code block, with its code removed.
  private static func prose(_ line: Substring, isInBlock: inout Bool) -> Substring? {
    if line.drop(while: \.isWhitespace).hasPrefix("```") {
      isInBlock.toggle()
      return nil
    }
    let parts = line.split(separator: "`", omittingEmptySubsequences: false)
    return isInBlock ? nil : parts.indices.filter { $0.isMultiple(of: 2) }.map { parts[$0] }.joined(separator: " ")[...]
  }

  /// A line of a docstring, a string in three quotes that begins its line, or a comment outside other strings in three quotes.
  private static func pythonComment(_ line: Substring, isInBlock: inout Bool, isInString: inout Bool) -> Substring? {
    let isOdd = !line.ranges(of: "\"\"\"").count.isMultiple(of: 2)
    if isInBlock || !isInString && line.drop(while: \.isWhitespace).hasPrefix("\"\"\"") {
      if isOdd { isInBlock.toggle() }
      return line
    }
    let wasInString = isInString
    if isOdd { isInString.toggle() }
    return wasInString ? nil : Self.hashComment(line)
  }
}
