/// The comments of a source file, line by line; of Swift and JavaScript tests also the names.
struct CommentText {
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
  /// Comments with their line numbers, counted from 1.
  private(set) var comments: [(line: Int, text: String)] = []

  init(path: String, text: String) {
    self.path = path
    var isInBlock = false
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let comment: Substring? =
        switch Self.syntax(of: path) {
        case .slashes: Self.slashComment(line, isInBlock: &isInBlock) ?? Self.name(line)
        case .hash: Self.hashComment(line)
        case .python: Self.docstring(line, isInBlock: &isInBlock) ?? Self.hashComment(line)
        case .markdown: Self.prose(line, isInBlock: &isInBlock)
        case .none: nil
        }
      if let comment { self.comments.append((index + 1, String(comment))) }
    }
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
      isInBlock = !line.contains("*/")
      return line
    }
    return line.ranges(of: "//").first { range in
      range.lowerBound == line.startIndex || line[line.index(before: range.lowerBound)] != ":"
    }.map { line[$0.lowerBound...] }
  }

  /// The name of a test or a suite.
  private static func name(_ line: Substring) -> Substring? {
    let prefixes = ["func `", "@Suite(\"", "  test(\"", "test(\"", "describe(\""]
    guard let start = prefixes.lazy.compactMap({ line.firstRange(of: $0)?.upperBound }).first else { return nil }
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

  /// A line of a docstring: a string in three quotes that begins its line.
  private static func docstring(_ line: Substring, isInBlock: inout Bool) -> Substring? {
    let quotes = line.ranges(of: "\"\"\"").count
    let isDocstring = isInBlock || line.drop(while: \.isWhitespace).hasPrefix("\"\"\"")
    if isDocstring, quotes % 2 == 1 { isInBlock.toggle() }
    return isDocstring ? line : nil
  }
}
