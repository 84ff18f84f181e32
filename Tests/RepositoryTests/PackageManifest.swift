import Foundation

/// The targets of Package.swift and their dependencies, read from its text.
struct PackageManifest {
  /// Targets of this package on which each of its targets depends directly, without products of other packages.
  let dependencies: [String: Set<String>]

  init(text: String) {
    let lines = text.split(separator: "\n").filter { !$0.drop(while: \.isWhitespace).hasPrefix("//") }
    let code = lines.joined(separator: "\n")
    // `let xcb: Target.Dependency = .target(name: "CXCB", …)`.
    let variables = Dictionary(
      code.matches(of: /let (\w+): Target\.Dependency = \.target\(name: "(\w+)"/).map { (String($0.1), String($0.2)) },
      uniquingKeysWith: { $1 })
    var dependencies: [String: Set<String>] = [:]
    for target in Self.elements(of: "\n  targets: [", in: code) {
      guard let name = target.firstMatch(of: /name: "(\w+)"/)?.1 else { continue }
      dependencies[String(name)] = Set(
        Self.elements(of: "dependencies: [", in: target).compactMap { dependency -> String? in
          if dependency.hasPrefix(".product(") { return nil }
          return variables[dependency] ?? dependency.firstMatch(of: /"(\w+)"/).map { String($0.1) }
        })
    }
    let names = Set(dependencies.keys)
    self.dependencies = dependencies.mapValues { $0.intersection(names) }
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
