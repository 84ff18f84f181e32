internal import Libc
public import Media

/// File name pattern of a recording: a path with date and time fields, filled in when a file is created.
///
/// | field | stands for |
/// |-------|------------|
/// | `%Y` `%y` | the year, of four or two digits |
/// | `%m` `%d` | month and day, of two digits |
/// | `%j` | the day of the year, of three digits |
/// | `%H` `%M` `%S` | hour (00 to 23), minute, second |
/// | `%F` | `%Y-%m-%d` |
/// | `%%` | `%` |
///
/// Times are local. Folders whose names contain fields are created when missing; others must exist. When a name is
/// taken, the next file is called `NAME-2.mp4`, then `NAME-3.mp4`.
public struct FilePattern: Hashable, Sendable, CustomStringConvertible {
  /// The pattern as it was written.
  public let description: String

  /// Path components, each as a list of literals and fields.
  private let components: [[Element]]
  private let isAbsolute: Bool

  fileprivate enum Element: Hashable {
    case text(String)
    case field(Character)
  }

  /// Parses a pattern.
  ///
  /// - Throws: ``VidiconError`` `.invalidSpecification` when the pattern is empty, names a folder, or has an unknown
  ///   field.
  public init(_ text: String) throws(VidiconError) {
    func invalid(_ cause: String, _ nextStep: String) -> VidiconError {
      VidiconError(.invalidSpecification, path: text, cause: cause, nextStep: nextStep)
    }
    guard !text.isEmpty else {
      throw VidiconError(
        .invalidSpecification, path: "recording", cause: "the name is empty", nextStep: "give a file's name")
    }
    guard !text.utf8.contains(0) else { throw invalid("the name has a zero byte", "leave it out") }
    var components: [[Element]] = []
    for part in text.split(separator: "/") {
      guard let elements = Self.elements(part) else {
        throw invalid("a field after % is not known", "use %Y %y %m %d %j %H %M %S %F, or %% for %")
      }
      components.append(elements)
    }
    guard let last = components.last, !text.hasSuffix("/"), last != [.text(".")], last != [.text("..")] else {
      throw invalid("it is a folder", "give the name of a file in it")
    }
    self.description = text
    self.components = components
    self.isAbsolute = text.hasPrefix("/")
  }

  private static func elements(_ text: Substring) -> [Element]? {
    var elements: [Element] = []
    var plain = ""
    var rest = text[...]
    while let character = rest.popFirst() {
      guard character == "%" else {
        plain.append(character)
        continue
      }
      guard let field = rest.popFirst() else { return nil }
      if field == "%" {
        plain.append("%")
        continue
      }
      guard "YymdjHMSF".contains(field) else { return nil }
      if !plain.isEmpty { elements.append(.text(plain)) }
      plain = ""
      elements.append(.field(field))
    }
    if !plain.isEmpty { elements.append(.text(plain)) }
    return elements
  }

  /// Folder that must exist: the path before the first component with a field, and before the file name.
  public var folder: String {
    self.path(self.components.prefix(self.fixedCount).map { Self.expand($0, tm()) })
  }

  /// Returns the path of a file of this pattern relative to ``folder``.
  package func name(ofFile path: String) -> String {
    let folder = self.folder
    guard folder != ".", path.hasPrefix(folder) else { return path }
    return String(path.dropFirst(folder.count).drop { $0 == "/" })
  }

  private var fixedCount: Int {
    min(self.components.count - 1, self.components.prefix { $0.allSatisfy { !$0.isField } }.count)
  }

  private func path(_ names: [String]) -> String {
    let path = (self.isAbsolute ? "/" : "") + names.joined(separator: "/")
    return path.isEmpty ? "." : path
  }

  private static func expand(_ elements: [Element], _ time: tm) -> String {
    elements.map { element in
      switch element {
      case .text(let text): text
      case .field(let field): Self.expand(field, time)
      }
    }.joined()
  }

  private static func expand(_ field: Character, _ time: tm) -> String {
    func digits(_ value: Int32, _ count: Int) -> String {
      let text = String(max(0, value))
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    switch field {
    case "Y": return digits(time.tm_year + 1900, 4)
    case "y": return digits(time.tm_year % 100, 2)
    case "m": return digits(time.tm_mon + 1, 2)
    case "d": return digits(time.tm_mday, 2)
    case "j": return digits(time.tm_yday + 1, 3)
    case "H": return digits(time.tm_hour, 2)
    case "M": return digits(time.tm_min, 2)
    case "S": return digits(time.tm_sec, 2)
    default: return [("Y" as Character), "m", "d"].map { Self.expand($0, time) }.joined(separator: "-")
    }
  }
}

// MARK: - Names
extension FilePattern {
  /// Returns the path of a file that begins at a time of day, in nanoseconds since 1970, in the local time zone.
  ///
  /// - Returns: The folders to create when missing, outermost first, and the path.
  func name(atUnixTime nanoseconds: Int64) -> (folders: [String], path: String) {
    var seconds = time_t(nanoseconds / 1_000_000_000)
    var time = tm()
    localtime_r(&seconds, &time)
    let names = self.components.map { Self.expand($0, time) }
    let folders = (self.fixedCount..<names.count - 1).map { self.path(Array(names[...$0])) }
    return (folders, self.path(names))
  }

  /// Maximum number of digits of the number in a file's name: each such number fits into 64 bits, and no recorder gets there.
  private static let maximumDigitCount = 18

  /// Inserts a number before the extension: `NAME-2.mp4`.
  static func numbered(_ path: String, _ number: Int) -> String {
    let name = path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return "\(path)-\(number)" }
    return "\(path[..<dot])-\(number)\(path[dot...])"
  }
}

// MARK: - Existing files
extension FilePattern {
  /// Enumerates the existing files whose names match the pattern, numbered ones included.
  ///
  /// - Parameters:
  ///   - willList: Called with each folder that may contain matching files, before it is listed.
  ///   - folder: Called with each of these folders, after the files in it.
  ///   - file: Called with the path of each matching file.
  func forEach(
    willList: (String) -> Void = { _ in }, folder: (String) -> Void = { _ in }, file: (String) -> Void
  ) {
    self.forEach(below: self.folder, depth: self.fixedCount, willList: willList, folder: folder, file: file)
  }

  private func forEach(
    below path: String, depth: Int, willList: (String) -> Void, folder: (String) -> Void, file: (String) -> Void
  ) {
    let isLast = depth == self.components.count - 1
    willList(path)
    // A component without fields has exactly one name.
    let names = Folder.names(in: path).filter { self.matches($0, self.components[depth], isFile: isLast) }
    for name in names {
      let below = Folder.path(name, in: path)
      if isLast {
        file(below)
      } else {
        self.forEach(below: below, depth: depth + 1, willList: willList, folder: folder, file: file)
      }
    }
    folder(path)
  }

  /// Kind of path that a pattern's files and their folders have.
  enum Kind {
    /// A file, or a numbered one.
    case file
    /// A folder that may contain files of the pattern.
    case folder
  }

  /// Returns what a path is by its name alone; nil for other names.
  func kind(ofPath path: String) -> Kind? {
    let folder = self.folder
    let prefix = folder == "." ? "" : folder.hasSuffix("/") ? folder : folder + "/"
    guard path.hasPrefix(prefix) else { return nil }
    let names = path.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
    let components = self.components.dropFirst(self.fixedCount)
    guard names.count <= components.count else { return nil }
    for (offset, (name, elements)) in zip(names, components).enumerated() {
      guard self.matches(String(name), elements, isFile: offset == components.count - 1) else { return nil }
    }
    return names.count == components.count ? .file : .folder
  }

  private func matches(_ name: String, _ elements: [Element], isFile: Bool) -> Bool {
    if Self.matches(name, elements) { return true }
    guard isFile else { return false }
    // NAME-2.mp4
    let dot = name.lastIndex(of: ".").flatMap { $0 > name.startIndex ? $0 : nil } ?? name.endIndex
    guard let dash = name[..<dot].lastIndex(of: "-") else { return false }
    let number = name[name.index(after: dash)..<dot]
    guard number.first != "0", (1...Self.maximumDigitCount).contains(number.utf8.count),
      number.utf8.allSatisfy(isDigit), number != "1"
    else { return false }
    return Self.matches(String(name[..<dash] + name[dot...]), elements)
  }

  private static func matches(_ name: String, _ elements: [Element]) -> Bool {
    var rest = name[...]
    for element in elements {
      switch element {
      case .text(let text):
        guard rest.hasPrefix(text) else { return false }
        rest = rest.dropFirst(text.count)
      case .field(let field):
        let shape = field.digitCounts
        for (index, count) in shape.enumerated() {
          if index > 0 { guard rest.popFirst() == "-" else { return false } }
          let digits = rest.prefix(count)
          guard digits.utf8.count == count, digits.utf8.allSatisfy(isDigit) else { return false }
          rest = rest.dropFirst(count)
        }
      }
    }
    return rest.isEmpty
  }
}

extension FilePattern.Element {
  fileprivate var isField: Bool {
    if case .field = self { true } else { false }
  }
}

extension Character {
  /// Digit counts of the numbers that a field produces; dashes separate the numbers.
  fileprivate var digitCounts: [Int] {
    switch self {
    case "Y": [4]
    case "j": [3]
    case "F": [4, 2, 2]
    default: [2]
    }
  }
}

private func isDigit(_ byte: UInt8) -> Bool {
  (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}
