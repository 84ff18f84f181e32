import Foundation
import Testing

@Suite("docs/security.md")
struct SecurityPageTests {
  /// Tests named in the last column of the table of threats: suites' types between backquotes, tests and suites between
  /// asterisks.
  private static func named() throws -> (types: Set<String>, sentences: Set<String>) {
    let page = try String(contentsOf: Repository.top.appending(path: "docs/security.md"), encoding: .utf8)
    let section = page.prefix(upTo: try #require(page.firstRange(of: "\n## ")).lowerBound)
    let rows = section.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst()
    let cells = rows.compactMap { $0.split(separator: "|").filter { !$0.allSatisfy(\.isWhitespace) }.last }
    #expect(cells.count > 15)
    return (
      Set(cells.flatMap { $0.matches(of: /`([A-Za-z]+)`/).map { String($0.1) } }),
      Set(cells.flatMap { $0.matches(of: /\*([^*]+)\*/).map { String($0.1) } })
    )
  }

  @Test func `each threat names a test, and each named test exists`() throws {
    let (types, sentences) = try Self.named()
    let tests = try Repository.textOfTests()
    #expect(types.filter { !tests.has("struct \($0)") && !tests.has("enum \($0)") } == [])
    #expect(sentences.filter { !tests.has("`\($0)`") && !tests.has("@Suite(\"\($0)\"") } == [])
    #expect(types.count > 10 && sentences.count > 10)
  }
}
