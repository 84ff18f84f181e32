import Foundation

/// The promise of the package to programs that use it: its libraries, and the re-exports of Vidicon. Everything else is
/// `package`, so that it may change without notice.
struct PublicAccess {
  /// Targets whose public declarations are all promised.
  let rooms: Set<String>
  /// Public types of other targets that are promised one by one.
  let types: [String: Set<String>]

  /// - Parameters:
  ///   - libraries: Names of the promised libraries, each of one target.
  ///   - exports: File with the re-exports of `Vidicon`.
  init(libraries: Set<String>, exports: SwiftText) {
    var (rooms, types) = (libraries, [String: Set<String>]())
    for line in exports.lines where line.words.starts(with: ["_exported", "public", "import"]) {
      let names = line.words.dropFirst(3).map(String.init)
      if let room = names.first, names.count == 1 { rooms.insert(room) }
      if names.count == 3 { types[names[1], default: []].insert(names[2]) }
    }
    self.rooms = rooms
    self.types = types
  }

  /// Lines with `public` in a target's file that promise what is not re-exported. Classes that are `open` are left out: those that other
  /// targets of the package have subclasses of cannot be `package`.
  func unpromised(in room: String, of file: SwiftText) -> [Violation] {
    guard !self.rooms.contains(room) else { return [] }
    let promised = self.types[room] ?? []
    var violations: [Violation] = []
    var (name, isOpen) = (String?.none, false)
    TypeReach.forEachTopic(of: file) { line, header in
      switch header {
      case .type(let type), .extended(let type): (name, isOpen) = (type, line?.words.contains("open") ?? false)
      case .other: (name, isOpen) = (nil, false)
      case nil: break
      }
      guard let line, line.words.contains("public"), !isOpen, !(name.map(promised.contains) ?? false) else { return }
      violations.append(
        Violation(
          path: file.path, line: line.number,
          message: "\(name ?? "this") is public, and no library or re-export of Vidicon promises it; make it package"))
    }
    return violations
  }
}
