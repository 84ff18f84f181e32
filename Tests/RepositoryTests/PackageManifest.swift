import Foundation

/// The targets of Package.swift and their dependencies, read from its text.
struct PackageManifest {
  /// Targets of this package on which each of its targets depends directly, without products of other packages.
  let dependencies: [String: Set<String>]
  /// Everything that each target declares as a dependency, products of other packages too.
  let declarations: [String: Set<String>]
  /// Folder of each target.
  let folders: [String: String]
  /// Names of the libraries that the package offers, without those of its own tests, which begin with `_`.
  let libraries: Set<String>

  init(text: String) {
    let lines = text.split(separator: "\n").filter { !$0.drop(while: \.isWhitespace).hasPrefix("//") }
    let code = lines.joined(separator: "\n")
    // `let xcb: Target.Dependency = .target(name: "CXCB", …)`.
    let variables = Dictionary(
      code.matches(of: /let (\w+): Target\.Dependency = (\.(?:target|product)\(name: "\w+")/)
        .map { (String($0.1), String($0.2)) },
      uniquingKeysWith: { $1 })
    var (declarations, targets, folders) = ([String: Set<String>](), [String: Set<String>](), [String: String]())
    for target in Self.elements(of: "\n  targets: [", in: code) {
      guard let name = target.firstMatch(of: /name: "(\w+)"/).map({ String($0.1) }) else { continue }
      let texts = Self.elements(of: "dependencies: [", in: target).map { variables[$0] ?? $0 }
      declarations[name] = Set(texts.compactMap(Self.firstString))
      targets[name] = Set(texts.filter { !$0.hasPrefix(".product") }.compactMap(Self.firstString))
      folders[name] =
        target.firstMatch(of: /path: "([^"]+)"/).map { String($0.1) }
        ?? (target.hasPrefix(".testTarget") ? "Tests/\(name)" : "Sources/\(name)")
    }
    let names = Set(declarations.keys)
    self.declarations = declarations
    self.dependencies = targets.mapValues { $0.intersection(names) }
    self.folders = folders
    self.libraries = Set(code.matches(of: /\.library\(name: "([A-Za-z]\w*)"/).map { String($0.1) })
  }

  /// Dependencies of each target that no file of it uses: modules that it does not import, and programs that it does not run.
  ///
  /// - Parameter files: The Swift files of a folder; targets without any are not looked at.
  func unusedDependencies(_ files: (_ folder: String) throws -> [SwiftText]) rethrows -> [String: Set<String>] {
    var unused: [String: Set<String>] = [:]
    for (target, declared) in self.declarations {
      let texts = try files(self.folders[target] ?? "")
      guard !texts.isEmpty else { continue }
      let imported = Set(texts.flatMap { $0.imports.map(\.module) })
      let run = Set(
        texts.flatMap { text in
          text.lines.contains { $0.code.has("BuiltProgram(") } ? text.strings.map(\.text) : []
        })
      let left = declared.subtracting(imported).subtracting(run)
      if !left.isEmpty { unused[target] = left }
    }
    return unused
  }

  /// Manifest of this repository.
  static func ofRepository() throws -> PackageManifest {
    PackageManifest(text: try String(contentsOf: Repository.top.appending(path: "Package.swift"), encoding: .utf8))
  }

  /// Everything that a target links: its dependencies, and theirs.
  func closure(of target: String) -> Set<String> {
    var closure: Set<String> = []
    var next = [target]
    while let name = next.popLast() {
      next += (self.dependencies[name] ?? []).subtracting(closure)
      closure.formUnion(self.dependencies[name] ?? [])
    }
    return closure
  }

  private static func firstString(of code: String) -> String? {
    code.firstMatch(of: /"(\w+)"/).map { String($0.1) }
  }

  /// Elements of the first array that follows a text, without surrounding white space; empty where the text is missing.
  private static func elements(of start: String, in code: String) -> [String] {
    guard let start = code.firstRange(of: start)?.upperBound else { return [] }
    var (elements, element, depth) = ([String](), "", 0)
    for character in code[start...] {
      if character == "(" || character == "[" { depth += 1 }
      if character == ")" || character == "]" { depth -= 1 }
      if depth < 0 { break }
      if depth == 0, character == "," {
        elements.append(element)
        element = ""
      } else {
        element.append(character)
      }
    }
    return (elements + [element]).map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.filter { !$0.isEmpty }
  }
}
