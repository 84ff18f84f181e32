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

  /// The arguments of every line of a shell block that runs the program, directly, through `scripts/run`, or at the end of a
  /// pipe.
  private static func commands(in text: String) -> [[String]] {
    var isShell = false
    var commands: [[String]] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        isShell = line == "```sh"
      } else if isShell {
        let command = line.split(separator: " | ").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? ""
        let words = Self.words(command)
        switch words.first {
        case "vidicon": commands.append(Array(words.dropFirst()))
        case "scripts/run": commands.append(["serve"] + words.dropFirst())
        default: break
        }
      }
    }
    return commands
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

  @Test(arguments: [
    "README.md", "docs/access.md", "docs/configuration.md", "docs/watching.md", "docs/faces.md", "docs/performance.md",
  ])
  func `the program accepts every documented command`(path: String) throws {
    let commands = Self.commands(in: try Self.text(path))
    #expect(path != "README.md" || commands.count >= 9)
    for command in commands {
      #expect(throws: Never.self, "vidicon \(command.joined(separator: " "))") {
        _ = try RootCommand.parseAsRoot(command)
      }
    }
  }

  @Test func `README's program is the example, within the first hundred lines`() throws {
    let example = try Self.text("Examples/HelloCamera/main.swift").split(separator: "\n").filter { !$0.hasPrefix("//") }
    let head = try Self.text("README.md").split(separator: "\n", omittingEmptySubsequences: false).prefix(100)
    let program = head.drop { $0 != "```swift" }.dropFirst().prefix { $0 != "```" }.filter { !$0.isEmpty }
    #expect(!program.isEmpty && program.count <= 10)
    #expect(Array(program) == example)
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
