/// The types that a program can reach: those that its own text names, and what the types it names name in turn.
///
/// Only types at the top of a file are looked at: nested ones stand or fall with them. A type is named where its name is a word of
/// code, in its own body or that of an extension; what stands outside of types, and extensions of others' types, is reached always.
struct TypeReach {
  /// A declared type, or the code outside of types.
  private struct Node {
    /// Place of the declaration; nil for the code outside.
    var declaration: Violation?
    var words: Set<String> = []
  }

  /// Node of the code outside of types.
  private static let outside = ""
  private static let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "actor"]
  private static let modifiers: Set<Substring> = [
    "public", "package", "internal", "fileprivate", "private", "final", "indirect", "nonisolated", "unchecked",
    "MainActor",
    "main", "available", "unsafe", "dynamicMemberLookup", "frozen", "open",
  ]

  private var nodes: [String: Node] = [Self.outside: Node()]

  init(_ files: [SwiftText]) {
    for file in files { self.declare(file) }
    for file in files { self.readWords(of: file) }
  }

  /// Number of types.
  var count: Int { self.nodes.count - 1 }

  /// Types of some folder.
  func types(in folder: String) -> Set<String> {
    Set(self.nodes.filter { $0.value.declaration?.path.contains(folder) ?? false }.keys)
  }

  /// The types that neither the code outside of types nor any of the roots leads to.
  func unreached(from roots: Set<String>) -> [Violation] {
    var reached: Set<String> = []
    var next = roots.union([Self.outside]).filter { self.nodes[$0] != nil }
    while let name = next.popFirst() {
      reached.insert(name)
      next.formUnion((self.nodes[name]?.words ?? []).filter { self.nodes[$0] != nil && !reached.contains($0) })
    }
    return self.nodes.filter { !reached.contains($0.key) }.compactMap(\.value.declaration).sorted {
      ($0.path, $0.line) < ($1.path, $1.line)
    }
  }

  /// Declarations at the top of a file.
  private mutating func declare(_ file: SwiftText) {
    Self.forEachTopic(of: file) { line, header in
      guard let line, case .type(let name) = header else { return }
      self.nodes[name, default: Node()].declaration = Violation(
        path: file.path, line: line.number, message: "the program does not reach \(name)")
    }
  }

  private mutating func readWords(of file: SwiftText) {
    var node = Self.outside
    Self.forEachTopic(of: file) { line, header in
      switch header {
      case .type(let name): node = name
      case .extended(let name): node = self.nodes[name] == nil ? Self.outside : name
      case .other: node = Self.outside
      case nil: break
      }
      for word in line?.words ?? [] { self.nodes[node]?.words.insert(String(word)) }
    }
  }

  /// The declaration that begins on a line at the top of a file.
  enum Header {
    case type(String)
    case extended(String)
    /// A function, a variable, a condition of compilation.
    case other
  }

  /// Calls a body with each line, and with what begins there at the top of the file; nil inside of that.
  static func forEachTopic(of file: SwiftText, _ body: (SwiftText.Line?, Header?) -> Void) {
    var depth = 0
    // Whether the body of a type or function follows the lines of its head.
    var isInHead = false
    for line in file.lines where !line.code.isEmpty {
      guard !line.words.contains("import") || depth > 0 else { continue }
      var header: Header?
      if depth == 0, !isInHead {
        header = Self.header(of: line)
        if case .other = header {} else { isInHead = true }
      }
      body(line, header)
      for character in line.code.utf8 {
        if character == UInt8(ascii: "{") { (depth, isInHead) = (depth + 1, false) }
        if character == UInt8(ascii: "}") { depth -= 1 }
      }
    }
  }

  private static func header(of line: SwiftText.Line) -> Header {
    let words = line.words.drop { Self.modifiers.contains($0) }
    guard let kind = words.first, let name = words.dropFirst().first else { return .other }
    if kind == "extension" { return .extended(String(name)) }
    return Self.kinds.contains(kind) ? .type(String(name)) : .other
  }
}
