import ArgumentParser
import Testing

@testable import VidiconCommand

@Suite("Version of the program")
struct ProgramVersionTests {
  @Test(arguments: [("", ""), ("abcdef123456", " (abcdef123456)"), ("abcdef123456+", " (abcdef123456+)")])
  func `the commit stands behind the number where it is known`(commit: String, end: String) {
    #expect(ProgramVersion.text(commit: commit) == ProgramVersion.number + end)
  }

  @Test func `the program has the version of this build`() {
    #expect(RootCommand.configuration.version == ProgramVersion.text)
    #expect(ProgramVersion.text.hasPrefix(ProgramVersion.number))
  }
}
