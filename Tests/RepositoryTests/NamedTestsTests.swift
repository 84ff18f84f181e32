import Foundation
import Testing

/// Pages whose tables name the test that shows each row.
@Suite("Tests that pages name")
struct NamedTestsTests {
  /// Tests named in the last column of a page's tables: suites' types between backquotes, tests and suites between
  /// asterisks.
  private static func named(in page: String) throws -> (types: Set<String>, sentences: Set<String>, bare: [Substring]) {
    let text = try String(contentsOf: Repository.top.appending(path: page), encoding: .utf8)
    let cells = text.split(separator: "\n").filter { $0.hasPrefix("| ") }.compactMap {
      $0.split(separator: "|").filter { !$0.allSatisfy(\.isWhitespace) }.last
    }
    let rows = cells.filter { $0.trimmingCharacters(in: .whitespaces) != "test" }
    return (
      Set(rows.flatMap { $0.matches(of: /`([A-Za-z]+)`/).map { String($0.1) } }),
      Set(rows.flatMap { $0.matches(of: /\*([^*]+)\*/).map { String($0.1) } }),
      rows.filter { !$0.contains("*") && !$0.contains("`") }
    )
  }

  @Test(arguments: ["docs/recording.md", "docs/check.md", "docs/decisions/2026-11-26-holes-found-by-reading.md"])
  func `each row names a test, and each named test exists`(page: String) throws {
    let (types, sentences, bare) = try Self.named(in: page)
    let tests = try Repository.textOfTests()
    #expect(types.filter { name in !["struct", "enum", "class"].contains { tests.has("\($0) \(name)") } } == [])
    #expect(sentences.filter { !tests.has("`\($0)`") && !tests.has("@Suite(\"\($0)\"") } == [])
    #expect(bare == [])
    #expect(types.count > 5 && sentences.count > 15)
  }

  @Test func `each section of docs/sources.md names tests, which exist`() throws {
    let text = try String(contentsOf: Repository.top.appending(path: "docs/sources.md"), encoding: .utf8)
    let tests = try Repository.textOfTests()
    let sections = text.components(separatedBy: "\n## ").dropFirst()
    // A table may have a column for tests.
    #expect(sections.filter { !$0.contains("\n\nShown by ") && !$0.contains(" | tests |\n") } == [])
    let paragraphs = text.components(separatedBy: "\n\n").filter { $0.hasPrefix("Shown by ") }
      .map { $0.replacing("\n", with: " ") }
    let types = Set(paragraphs.flatMap { $0.matches(of: /`([A-Za-z0-9]+)`/).map { String($0.1) } })
    let sentences = Set(paragraphs.flatMap { $0.matches(of: /\*([^*]+)\*/).map { String($0.1) } })
    #expect(types.filter { !tests.has("struct \($0) {") } == [])
    #expect(sentences.filter { !tests.has("`\($0)`") } == [])
    #expect(types.count > 20 && sentences.count > 20)
  }
}
