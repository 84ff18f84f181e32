import Foundation
import Testing

/// Figures of decisions name the commit at which they were counted or measured.
@Suite("Commits that decisions name")
struct NamedCommitsTests {
  /// Abbreviated names of commits in a text: 7 to 12 hexadecimal digits, letters among them.
  private static func commits(in text: String) -> [String] {
    text.matches(of: /\b[0-9a-f]{7,12}\b/).map { String($0.output) }
      .filter { $0.contains(where: \.isLetter) && $0.contains(where: \.isNumber) }
  }

  private static func git(_ words: String...) throws -> String {
    let run = try Repository.run(["git", "-c", "safe.directory=*"] + words)
    try #require(run.status == 0, "\(run.errors)")
    return run.output
  }

  @Test func `numbers, words and names of other lengths are no commits`() {
    let text = "At 44df8fa, `9df10c20`: 1234567 of defaced lines, 81b7a1, 07d2cffbc210 and 0123456789abcdef."
    #expect(Self.commits(in: text) == ["44df8fa", "9df10c20", "07d2cffbc210"])
  }

  /// A rebased commit has another name, and is nowhere to be found by the old one. A shallow clone has not all commits.
  @Test(.enabled(if: Repository.isCheckout)) func `each of them is in the history`() throws {
    guard try Self.git("rev-parse", "--is-shallow-repository").hasPrefix("false") else { return }
    let history = try Self.git("rev-list", "HEAD").split(separator: "\n")
    let folder = Repository.top.appending(path: "docs/decisions")
    let pages = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "md" }
    let named = try pages.flatMap { page in
      Self.commits(in: try String(contentsOf: page, encoding: .utf8)).map { ($0, page.lastPathComponent) }
    }
    #expect(named.count > 10)
    for (commit, page) in named {
      #expect(history.contains { $0.hasPrefix(commit) }, "\(page): \(commit)")
    }
  }
}
