import Foundation
import Testing

@Suite("Version of the release")
struct VersionTests {
  private static func text(_ path: String) throws -> String {
    try String(contentsOf: Repository.top.appending(path: path), encoding: .utf8)
  }

  /// The version in the file `VERSION`.
  private static func version() throws -> String {
    try Self.text("VERSION").trimmingCharacters(in: .newlines)
  }

  @Test func `the file VERSION has three numbers, and the program the same`() throws {
    let version = try Self.version()
    #expect(version.wholeMatch(of: #/[0-9]+\.[0-9]+\.[0-9]+/#) != nil, "\(version)")
    let source = try Self.text("Sources/VidiconCommand/ProgramVersion.swift")
    #expect(source.contains("static let number = \"\(version)\"\n"))
  }

  @Test func `the change log begins with what is not released, and names no later release than VERSION`() throws {
    let headings = try Self.text("CHANGELOG.md").split(separator: "\n").filter { $0.hasPrefix("## ") }
    #expect(headings.first == "## [Unreleased]")
    // The first release is not made yet.
    let current = try "## [\(Self.version())]"
    let latest = headings.dropFirst().first.map(String.init) ?? current
    #expect(latest.hasPrefix(current), "\(latest)")
  }

  @Test(.enabled(if: Repository.isCheckout)) func `the commit of a checkout has twelve digits, and a mark of changes`()
    throws
  {
    let commit = try Repository.run(["scripts/commit"])
    #expect(commit.status == 0 && commit.output.wholeMatch(of: #/[0-9a-f]{12,}\+?\n/#) != nil, "\(commit)")
  }
}
