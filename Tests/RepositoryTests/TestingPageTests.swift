import Foundation
import Testing

@Suite("docs/testing.md, and the figures that only the long suite judges")
struct TestingPageTests {
  /// A test by its room and name.
  private struct JudgedTest: Hashable {
    var room: String
    var name: String
  }

  /// Rows of the table "Room, Test" of a page.
  private static func listed(in page: String) -> Set<JudgedTest> {
    let rows = page.split(separator: "\n").compactMap { row -> JudgedTest? in
      guard let match = row.wholeMatch(of: #/\| ([A-Za-z0-9]+Tests) \| ([^|]+) \|/#) else { return nil }
      return JudgedTest(room: String(match.1), name: String(match.2))
    }
    return Set(rows)
  }

  /// Tests of a file that call `onQuietMachine` or read `judgesTiming`, each by the last name of a test above the line.
  private static func uses(in text: SwiftText) -> Set<JudgedTest> {
    let room = String(text.path.split(separator: "/").dropFirst().first ?? "")
    var (uses, name): (Set<JudgedTest>, String?) = ([], nil)
    for (index, line) in text.lines.enumerated() {
      // The name may be on the line after the keyword.
      let isDeclaration = line.words.contains("func") || (index > 0 && text.lines[index - 1].words.last == "func")
      if isDeclaration, let match = line.text.firstMatch(of: /`([^`]+)`/) { name = String(match.1) }
      if let name, line.words.contains("onQuietMachine") || line.words.contains("judgesTiming") {
        uses.insert(JudgedTest(room: room, name: name))
      }
    }
    return uses
  }

  @Test func `uses are found below the names of their tests`() {
    let lines = [
      "func helper() { onQuietMachine(true) }", "@Test func `a b`() {", "#expect(onQuietMachine(true))", "}", "@Test",
      "func", "`c d`() {", "// onQuietMachine", "if judgesTiming {}", "}", "@Test func `e`() {}",
    ]
    let text = SwiftText(path: "/Tests/RTPTests/A.swift", text: lines.joined(separator: "\n"))
    #expect(
      Self.uses(in: text) == [JudgedTest(room: "RTPTests", name: "a b"), JudgedTest(room: "RTPTests", name: "c d")])
    #expect(
      Self.listed(in: "| Room | Test |\n| --- | --- |\n| RTPTests | a b |\nx | y |\n| HLSTests | a | 1 |\n")
        == [JudgedTest(room: "RTPTests", name: "a b")])
  }

  @Test func `the rooms that the page lists are those that the long suite judges`() throws {
    let page = try String(contentsOf: Repository.top.appending(path: "docs/testing.md"), encoding: .utf8)
    let rooms = Set(Self.listed(in: page).map(\.room)).subtracting(["EndToEndTests"])
    let script = #"source scripts/rooms.bash; printf '%s\n' "${timing_rooms[@]}""#
    let judged = Set(try Repository.run(["bash", "-c", script]).output.split(separator: "\n").map(String.init))
    #expect(rooms.count > 5 && rooms.subtracting(judged) == [])
  }

  @Test func `the page lists each test with a figure that the gate does not judge, and only tests that there are`()
    throws
  {
    let page = try String(contentsOf: Repository.top.appending(path: "docs/testing.md"), encoding: .utf8)
    let files = try Repository.swiftFiles(in: "Tests").filter {
      GateRules.apply(to: $0.path) && !$0.path.hasPrefix("/Tests/RepositoryTests/")
        && !$0.path.hasPrefix("/Tests/TestSupport/") && !$0.path.contains("/Harness/")
    }
    var (uses, texts): (Set<JudgedTest>, [String]) = ([], [])
    for file in files {
      uses.formUnion(Self.uses(in: file))
      texts += file.lines.map(\.text)
    }
    let listed = Self.listed(in: page)
    #expect(uses.count > 30)
    #expect(uses.subtracting(listed) == [])
    // A function that several tests call may have the figure.
    let declarations = texts.filter { $0.has("`") }.joined(separator: "\n")
    #expect(listed.subtracting(uses).filter { !declarations.has("`\($0.name)`") } == [])
  }
}
