import ArgumentParser
import Foundation
import Testing

@testable import VidiconCommand

/// A command in README or `docs/` that the program would refuse is a broken promise.
@Suite("Documented commands")
struct DocumentedCommandsTests {
  private static let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: self.top.appending(path: path), encoding: .utf8)
  }

  /// The arguments of every line of a shell block, and of every cell of a table that is a command, that runs the program:
  /// directly, through `scripts/run`, or at the end of a pipe.
  private static func commands(in text: String) -> [[String]] {
    var isShell = false
    var commands: [[String]] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        isShell = line == "```sh"
      } else if let command = isShell ? line : Self.command(inRow: line), let arguments = Self.arguments(of: command) {
        commands.append(arguments)
      }
    }
    return commands
  }

  /// The last cell of a table row when it is a single code span, without the backslash before each of its pipes.
  private static func command(inRow line: Substring) -> Substring? {
    guard let cell = line.firstMatch(of: /^\|.* \| `([^`]+)` \|$/)?.output.1 else { return nil }
    return Substring(cell.replacing("\\|", with: "|"))
  }

  /// The program's arguments in a command of a shell; nil when it runs another program.
  private static func arguments(of line: Substring) -> [String]? {
    let command = line.split(separator: " | ").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? ""
    let words = Self.words(command)
    switch words.first {
    case "vidicon": return Array(words.dropFirst())
    case "scripts/run": return ["serve"] + words.dropFirst()
    default: return nil
    }
  }

  /// Splits a command into words as a shell does, without its comment.
  private static func words(_ command: String) -> [String] {
    var words: [String] = []
    var word = ""
    var quote: Character?
    for character in command {
      switch (quote, character) {
      case (nil, "'"), (nil, "\""): quote = character
      case (let open?, character) where open == character: quote = nil
      case (nil, " "):
        if !word.isEmpty { words.append(word) }
        word = ""
      case (nil, "#") where word.isEmpty: return words
      default: word.append(character)
      }
    }
    return word.isEmpty ? words : words + [word]
  }

  @Test func `the program accepts every documented command`() throws {
    var counts: [String: Int] = [:]
    for path in ["README.md"] + (try Self.documents()) {
      for command in Self.commands(in: try Self.text(path)) {
        counts[path, default: 0] += 1
        #expect(throws: Never.self, "\(path): vidicon \(command.joined(separator: " "))") {
          _ = try RootCommand.parseAsRoot(command)
        }
      }
    }
    // At most half of those of today.
    #expect(counts["README.md", default: 0] >= 9)
    for page in ["access", "configuration", "faces", "pushing", "webrtc"] {
      #expect(counts["docs/\(page).md", default: 0] >= 1, "\(page)")
    }
  }

  @Test func `README's program is the example, within the first hundred lines`() throws {
    let example = try Self.text("Examples/HelloCamera/main.swift").split(separator: "\n").filter { !$0.hasPrefix("//") }
    let head = try Self.text("README.md").split(separator: "\n", omittingEmptySubsequences: false).prefix(100)
    let program = head.drop { $0 != "```swift" }.dropFirst().prefix { $0 != "```" }.filter { !$0.isEmpty }
    #expect(!program.isEmpty && program.count <= 10)
    #expect(Array(program) == example)
  }

  @Test func `README is in the order in which a newcomer asks, and each use case has a command`() throws {
    let text = try Self.text("README.md")
    let order = ["What it does", "Two commands", "How to watch", "Use cases", "In Swift", "What it speaks", "Details"]
    let headings = text.matches(of: /\n## (.+)/).map { String($0.output.1) }
    #expect(Array(headings.prefix(order.count)) == order)
    let uses = try #require(text.firstRange(of: "\n## Use cases")).upperBound
    let program = try #require(text.firstRange(of: "\n## In Swift")).lowerBound
    let rows = text[uses..<program].matches(of: /\n\| \[(.+)\]\(.+\) \| (.+) \|/)
    for use in ["Webcam to OBS", "Screen to browser", "Mask faces", "Record", "Draw pixels"] {
      let row = try #require(rows.first { $0.output.1 == use }, "\(use)")
      #expect(row.output.2.contains(/^`[^`]+`$/), "\(use): \(row.output.2)")
    }
  }

  @Test func `every link to a heading of README leads to one`() throws {
    let text = try Self.text("README.md")
    let headings = text.matches(of: /\n##+ (.+)/).map { match in
      // As GitHub makes them: spaces become hyphens, punctuation is removed.
      match.output.1.lowercased().replacing(" ", with: "-").filter { $0.isLetter || $0.isNumber || $0 == "-" }
    }
    let links = text.matches(of: /\]\(#([^)]+)\)/).map { String($0.output.1) }
    #expect(links.count >= 10)
    for link in links { #expect(headings.contains(link), "#\(link)") }
  }

  @Test func `every local link in the documentation leads to a file`() throws {
    var links = 0
    for path in ["README.md", "CONTRIBUTING.md"] + (try Self.documents()) {
      let folder = (path as NSString).deletingLastPathComponent
      for match in try Self.text(path).matches(of: /\]\(([^)#\s]+)(?:#[^)]*)?\)/) {
        let target = String(match.output.1)
        guard !target.contains("://") else { continue }
        links += 1
        let file = Self.top.appending(path: folder).appending(path: target)
        #expect(FileManager.default.fileExists(atPath: file.path), "\(path) links to \(target)")
      }
    }
    #expect(links >= 30)
  }

  private static func documents() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: self.top.appending(path: "docs").path)
      .filter { $0.hasSuffix(".md") }.map { "docs/" + $0 }
  }
}
