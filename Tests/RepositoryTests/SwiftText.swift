/// A Swift file, line by line: as it is written, and as code alone, without comments and the content of strings. Files in C,
/// JavaScript and Python are read by the same rules, as far as identifiers need them.
struct SwiftText: Sendable {
  /// One line.
  struct Line: Sendable {
    /// Line number, counted from 1.
    var number: Int
    /// The source text, without surrounding spaces.
    var text: String
    /// Without comments and the content of strings; the code of interpolations stays.
    var code: String
    /// The words of the code: identifiers, keywords, numbers.
    var words: [Substring]
  }

  /// Path below the repository's root.
  let path: String
  /// Every line.
  private(set) var lines: [Line]
  /// The content of string literals, and of templates in JavaScript, with the line on which each begins. Interpolations are
  /// spaces.
  let strings: [(line: Int, text: String)]

  init(path: String, text: String) {
    // Comments of Python begin as those of Swift then; `//` divides in few places.
    var scanner = SwiftScanner(
      path.hasSuffix(".py") ? text.replacing("#", with: "//") : text,
      hasTemplates: path.hasSuffix(".mjs") || path.hasSuffix(".js"))
    let codeLines = Self.lines(scanner.codeOnly())
    self.path = path
    self.strings = scanner.strings
    self.lines = zip(Self.lines(text), codeLines).enumerated().map { index, line in
      let code = Self.trimmed(line.1)
      let words = code.split { !($0.isLetter || $0.isNumber || $0 == "_") }
      return Line(number: index + 1, text: Self.trimmed(line.0), code: code, words: words)
    }
  }

  /// The file with nothing on some of its lines, by their indices.
  func blanking(_ indices: Set<Int>) -> SwiftText {
    var copy = self
    for index in indices { copy.lines[index] = Line(number: index + 1, text: "", code: "", words: []) }
    return copy
  }

  /// Imported modules, with their lines.
  var imports: [(module: String, line: Line)] {
    let modifiers: Set<Substring> = [
      "public", "package", "internal", "fileprivate", "private", "_exported", "testable", "preconcurrency",
      "_implementationOnly", "_spiOnly",
    ]
    let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias", "actor"]
    return self.lines.compactMap { line in
      guard let place = line.words.firstIndex(of: "import"), line.words[..<place].allSatisfy(modifiers.contains),
        let module = line.words[(place + 1)...].first(where: { !kinds.contains($0) })
      else { return nil }
      return (String(module), line)
    }
  }

  private static func lines(_ text: String) -> [Substring] {
    text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  private static func trimmed(_ line: Substring) -> String {
    let end = line.lastIndex { !$0.isWhitespace }.map(line.index(after:)) ?? line.startIndex
    return String(line[..<end].drop(while: \.isWhitespace))
  }
}

/// Extracts the code and the string literals of Swift source.
private struct SwiftScanner {
  private let bytes: [UInt8]
  /// Whether text in backquotes is a string, as in JavaScript, and no identifier.
  private let hasTemplates: Bool
  private var position = 0
  private var line = 1
  private var code: [UInt8] = []
  /// String literals with the line on which each begins, in the order of their ends.
  private(set) var strings: [(line: Int, text: String)] = []

  init(_ text: String, hasTemplates: Bool) {
    self.bytes = Array(text.utf8)
    self.hasTemplates = hasTemplates
  }

  /// The code, with the source's line breaks.
  mutating func codeOnly() -> String {
    self.scanCode(isInterpolation: false)
    return String(decoding: self.code, as: UTF8.self)
  }

  /// Copies code up to the end of the source, or of the current interpolation.
  private mutating func scanCode(isInterpolation: Bool) {
    var depth = 0
    while self.position < self.bytes.count {
      let byte = self.bytes[self.position]
      if byte == UInt8(ascii: "/"), self.isAt("//") {
        while self.position < self.bytes.count, self.bytes[self.position] != UInt8(ascii: "\n") { self.position += 1 }
      } else if byte == UInt8(ascii: "/"), self.isAt("/*") {
        self.skipBlockComment()
      } else if let hashes = self.hashesOfOpeningQuote() {
        self.scanString(hashes: hashes)
      } else if byte == UInt8(ascii: "`") {
        self.scanRawIdentifier()
      } else {
        if isInterpolation, byte == UInt8(ascii: "(") { depth += 1 }
        if isInterpolation, byte == UInt8(ascii: ")") {
          if depth == 0 { return }
          depth -= 1
        }
        self.copy()
      }
    }
  }

  private mutating func skipBlockComment() {
    var depth = 0
    repeat {
      if self.isAt("/*") {
        depth += 1
        self.position += 2
      } else if self.isAt("*/") {
        depth -= 1
        self.position += 2
      } else {
        self.skip()
      }
    } while depth > 0 && self.position < self.bytes.count
  }

  private mutating func scanRawIdentifier() {
    self.position += 1
    let (start, startLine) = (self.position, self.line)
    while self.position < self.bytes.count, self.bytes[self.position] != UInt8(ascii: "`") { self.skip() }
    if self.hasTemplates {
      self.strings.append((startLine, String(decoding: self.bytes[start..<self.position], as: UTF8.self)))
    }
    self.position += 1
  }

  /// Skips a string and copies the code in its interpolations.
  private mutating func scanString(hashes: Int) {
    let isMultiline = self.isAt("\"\"\"", from: self.position + hashes)
    let quote = isMultiline ? "\"\"\"" : "\""
    let end = quote + String(repeating: "#", count: hashes)
    let escape = "\\" + String(repeating: "#", count: hashes)
    self.position += hashes + quote.utf8.count
    self.code += [UInt8(ascii: "\""), UInt8(ascii: "\"")]
    let startLine = self.line
    var content: [UInt8] = []
    defer { self.strings.append((startLine, String(decoding: content, as: UTF8.self))) }
    while self.position < self.bytes.count {
      if self.isAt(end) {
        self.position += end.utf8.count
        return
      }
      if self.isAt(escape + "(") {
        self.position += escape.utf8.count + 1
        self.code.append(UInt8(ascii: " "))
        content.append(UInt8(ascii: " "))
        self.scanCode(isInterpolation: true)
        self.code.append(UInt8(ascii: " "))
        self.position += 1
      } else if self.isAt(escape) {
        self.position += escape.utf8.count
        content.append(UInt8(ascii: " "))
        self.skip()
      } else {
        // A quote without a second one on its line begins no string, as in a regular expression.
        if !isMultiline, self.bytes[self.position] == UInt8(ascii: "\n") { return }
        content.append(self.bytes[self.position])
        self.skip()
      }
    }
  }

  /// The number of `#` before a quote at the current position; nil without a quote.
  private func hashesOfOpeningQuote() -> Int? {
    var end = self.position
    while end < self.bytes.count, self.bytes[end] == UInt8(ascii: "#") { end += 1 }
    return end < self.bytes.count && self.bytes[end] == UInt8(ascii: "\"") ? end - self.position : nil
  }

  private func isAt(_ text: String, from start: Int? = nil) -> Bool {
    // Byte by byte: it is asked for every byte of the repository.
    var index = start ?? self.position
    for byte in text.utf8 {
      guard index < self.bytes.count, self.bytes[index] == byte else { return false }
      index += 1
    }
    return true
  }

  private mutating func copy() {
    if self.bytes[self.position] == UInt8(ascii: "\n") { self.line += 1 }
    self.code.append(self.bytes[self.position])
    self.position += 1
  }

  /// Skips a byte; a line break is copied.
  private mutating func skip() {
    if self.position < self.bytes.count, self.bytes[self.position] == UInt8(ascii: "\n") {
      self.code.append(UInt8(ascii: "\n"))
      self.line += 1
    }
    self.position += 1
  }
}
