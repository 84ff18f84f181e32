import Foundation
import Media
import TestSupport
import Testing

@testable import VidiconCommand

// Processes of their own: the output is that of the whole process, at descriptors that the program's types do not choose.
@Suite("Standard output and standard error")
struct TerminalTests {
  @Test func `lines go to standard output, warnings as one line to standard error`() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardOutputContent, \.standardErrorContent]
    ) {
      Terminal.print("one")
      Terminal.warn("two\nthree\r\n\nfour")
      Terminal.print("")
      Terminal.print("ü")
      _ = LineWriter.standardError.flush(within: nil)
    }
    #expect(OutputLines(result.standardOutputContent).text == "one\n\nü\n")
    #expect(OutputLines(result.standardErrorContent).own == ["vidicon: two three four"])
  }

  @Test func `equal warnings are counted after the third one, and the number is shown at the end`() async throws {
    let result = try await #require(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
      for _ in 1...8 { Terminal.warn("again") }
      Terminal.warn("other")
      Terminal.showFolded()
      Terminal.fail("end", status: 1)
    }
    let lines = Array(repeating: "vidicon: again", count: 3)
    #expect(
      OutputLines(result.standardErrorContent).own
        == lines + ["vidicon: other", "vidicon: again (5 more like this)", "vidicon: end"])
  }

  @Test(arguments: [
    ("a\u{9b}2J\u{9b}31mb", "a 2J 31mb"), ("a\u{1b}[2Jb\u{7}", "a [2Jb "), ("a\u{202e}b\u{2066}c", "a b c"),
    ("a\u{2028}b\u{85}c\td", "a b c d"), ("Küche 🎥 …", "Küche 🎥 …"),
  ])
  func `a message changes nothing of the terminal but its line`(message: String, shown: String) {
    #expect(Terminal.oneLine(message) == shown)
  }

  @Test func `a failure ends the program with its status and one line`() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(64), observing: [\.standardOutputContent, \.standardErrorContent]
    ) {
      Terminal.fail("wrong\noption", status: VidiconError.usage("", "", "").exitStatus)
    }
    #expect(OutputLines(result.standardOutputContent).text.isEmpty)
    #expect(OutputLines(result.standardErrorContent).own == ["vidicon: wrong option"])
  }

  @Test func `a failure of the system has exit status 1`() async {
    await #expect(processExitsWith: .exitCode(1)) { Terminal.fail("x", status: VidiconError.noThread("x").exitStatus) }
  }

  @Test func `a status replaces the previous one, and is erased before any other line`() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardOutputContent, \.standardErrorContent]
    ) {
      Terminal.showStatus(["a", "b", "c"])
      Terminal.showStatus(["d"])
      Terminal.print("line")
      Terminal.showStatus(["e"])
      Terminal.warn("warning")
      Terminal.print("end")
      _ = LineWriter.standardError.flush(within: nil)
    }
    // DECAWM off and on around rows; ED erases from the first row on, ECMA-48 §8.3.39; CUU moves up, §8.3.22.
    func rows(_ text: String) -> String { "\u{1B}[?7l\(text)\u{1B}[?7h" }
    let text =
      rows("a\r\nb\r\nc") + "\u{1B}[2A\r\u{1B}[J" + rows("d") + "\r\u{1B}[J" + "line\n" + rows("e") + "\r\u{1B}[J"
      + "end\n"
    #expect(OutputLines(result.standardOutputContent).text == text)
    #expect(OutputLines(result.standardErrorContent).own == ["vidicon: warning"])
  }

  @Test func `JSON is one line with sorted keys and plain slashes`() async throws {
    let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
      Terminal.print(json: ["path": "a/b\nc", "event": "x\"y"])
      _ = LineWriter.standardOutput.flush(within: nil)
    }
    #expect(OutputLines(result.standardOutputContent).lines == [#"{"event":"x\"y","path":"a/b\nc"}"#])
  }

  @Test(.timeLimit(.minutes(5)))
  func `a reader of standard output that does not read or has gone does not stop the program`() async {
    await #expect(processExitsWith: .success) {
      var ends: [Int32] = [0, 0]
      precondition(pipe(&ends) == 0 && dup2(ends[1], STDOUT_FILENO) >= 0)
      // More than a pipe holds.
      for _ in 0..<100 { Terminal.print(String(repeating: "x", count: 4000)) }
      signal(SIGPIPE, SIG_IGN)
      close(ends[0])
      for _ in 0..<3 { Terminal.print("x") }
    }
  }

  @Test func `the limit of open files is raised to the hard limit`() async {
    await #expect(processExitsWith: .success) {
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
      var limit = rlimit()
      getrlimit(resource, &limit)
      limit.rlim_cur = 64
      setrlimit(resource, &limit)
      ProcessLimits.raiseOpenFiles()
      getrlimit(resource, &limit)
      precondition(limit.rlim_cur == min(limit.rlim_max, 1_048_576))
    }
  }

  #if os(Linux)
  @Test func `huge pages are off for the whole process`() async {
    await #expect(processExitsWith: .success) {
      func isEnabled() -> Bool? {
        let status = try? String(systemFile: "/proc/self/status")
        return status?.split(separator: "\n").first { $0.hasPrefix("THP_enabled:") }.map { $0.hasSuffix("1") }
      }
      precondition(isEnabled() == true)
      ProcessLimits.avoidHugePages()
      precondition(isEnabled() == false)
    }
  }
  #endif
}
