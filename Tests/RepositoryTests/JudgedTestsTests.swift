import Foundation
import Testing

/// The functions of `scripts/judge.bash`, on logs as Swift Testing writes them.
@Suite("scripts/judge.bash, which judges logs of tests")
struct JudgedTestsTests {
  /// A run of tests: its exit status, nil without a file that has it, and the lines of its log.
  private struct TestRun {
    var status: Int32?
    var lines: [String]

    static func passes(_ names: String...) -> TestRun {
      TestRun(
        status: 0,
        lines: names.flatMap { [started($0), "✔ Test \"\($0)\" passed after 0.1 seconds."] }
          + ["✔ Test run with \(names.count) tests in 1 suite passed after 0.2 seconds."])
    }

    static func fails(_ names: [String], others: [String] = []) -> TestRun {
      TestRun(
        status: 1,
        lines: names.flatMap { [started($0)] + failure($0) } + others
          + ["✘ Test run with \(names.count) tests in 1 suite failed after 0.2 seconds with \(names.count) issues."])
    }

    static func started(_ name: String) -> String { "◇ Test \"\(name)\" started." }

    static func failure(_ name: String) -> [String] {
      [
        "✘ Test \"\(name)\" recorded an issue at A.swift:1:2: Expectation failed: false",
        "✘ Test \"\(name)\" failed after 0.1 seconds with 1 issue.",
      ]
    }
  }

  /// Values of the variables of the script.
  private struct Outcome {
    var failures: [String] = []
    var again: [String] = []
    var flaky: [String] = []
    /// The page of `report_long_suite`, between its marks.
    var page = ""
    var output = ""
  }

  /// Calls functions of the script, whose runs of tests have the given logs, one after another.
  private func judge(_ runs: [TestRun], _ calls: String = "run_twice players Smoke 2") throws -> Outcome {
    let script = """
      set -euo pipefail
      source scripts/judge.bash
      trap 'rm -rf "$logs"' EXIT
      runs=("$@")
      start_tests() {
        printf '%s\\n' "${runs[0]#*$'\\n'}" >"$1"
        rm -f "$1.status"
        [[ ${runs[0]} == none* ]] || printf '%s\\n' "${runs[0]%%$'\\n'*}" >"$1.status"
        runs=("${runs[@]:1}")
      }
      printf '%s\\n' 'Before.' '<!-- long suite -->' 'old' '<!-- end of the long suite -->' 'After.' >"$logs/input"
      { \(calls); } >"$logs/output"
      [ "${#runs[@]}" -eq 0 ] || printf 'unused runs: %s\\n' "${#runs[@]}"
      for line in "${failures[@]}"; do printf 'failure=%s\\n' "$line"; done
      for line in "${again[@]}"; do printf 'again=%s\\n' "$line"; done
      for line in "${flaky[@]}"; do printf 'flaky=%s\\n' "$line"; done
      while IFS= read -r line; do printf 'output=%s\\n' "$line"; done <"$logs/output"
      while IFS= read -r line; do printf 'page=%s\\n' "$line"; done <"$logs/input"
      """
    let arguments = runs.map { run in
      let status = run.status.map { "\($0)" } ?? "none"
      return "\(status)\n" + run.lines.joined(separator: "\n")
    }
    let run = try Repository.run(["bash", "-c", script, "bash"] + arguments)
    #expect(run.status == 0, "\(run)")
    var outcome = Outcome()
    for line in run.output.split(separator: "\n") {
      let mark = try #require(line.firstIndex(of: "="))
      let value = String(line[line.index(after: mark)...])
      if line.hasPrefix("failure=") { outcome.failures.append(value) }
      if line.hasPrefix("again=") { outcome.again.append(value) }
      if line.hasPrefix("flaky=") { outcome.flaky.append(value) }
      if line.hasPrefix("output=") { outcome.output += value + "\n" }
      if line.hasPrefix("page=") { outcome.page += value + "\n" }
    }
    return outcome
  }

  @Test func `runs that pass have no failure`() throws {
    let outcome = try self.judge([.passes("a", "b")])
    #expect(outcome.failures == [] && outcome.again == [] && outcome.flaky == [])
    #expect(outcome.output.contains("players: 2 passed"))
  }

  @Test func `a test that passes alone is flaky, and no failure`() throws {
    let outcome = try self.judge([.fails(["a, b"]), .passes("a, b")])
    #expect(outcome.failures == [] && outcome.again == ["a, b: passed alone"] && outcome.flaky == ["a, b"])
  }

  @Test func `a test that fails alone as well is one failure`() throws {
    let outcome = try self.judge([.fails(["a"]), .fails(["a"])])
    #expect(outcome.again == ["a: failed again"] && outcome.flaky == [])
    #expect(
      outcome.failures == [
        "once more, alone: a: ✘ Test \"a\" recorded an issue at A.swift:1:2: Expectation failed: false"
      ])
  }

  @Test func `a crash beside a test that passes alone remains a failure, with the tests that it ended`() throws {
    let lines =
      [TestRun.started("a"), TestRun.started("b")] + TestRun.failure("a") + [
        "B/B.swift:1: Fatal error: index out of range"
      ]
    let outcome = try self.judge([TestRun(status: 133, lines: lines), .passes("a")])
    #expect(outcome.again == ["a: passed alone"])
    #expect(
      outcome.failures == [
        "players: ended with status 133 before the end of its tests; some may not have started",
        "players: did not end: \"b\"", "players: B/B.swift:1: Fatal error: index out of range",
      ])
  }

  @Test func `a hang beside a test that passes alone remains a failure`() throws {
    let cases = [TestRun.started("c"), "✔ Test \"c\" with 2 test cases passed after 0.1 seconds."]
    let lines = ["◇ Test run started.", TestRun.started("a"), TestRun.started("b")] + TestRun.failure("a") + cases
    let outcome = try self.judge([TestRun(status: 124, lines: lines), .passes("a")])
    #expect(outcome.failures == ["players: did not end within 2700 s", "players: did not end: \"b\""])
  }

  @Test(arguments: [0, 1] as [Int32])
  func `an exit before the last line of a run is a failure, whatever its status`(status: Int32) throws {
    let outcome = try self.judge(
      [TestRun(status: status, lines: [TestRun.started("a"), "✔ Test \"a\" passed after 0.1 seconds."])])
    #expect(
      outcome.failures == [
        "players: ended with status \(status) before the end of its tests; some may not have started"
      ])
  }

  @Test func `issues without a test and those of tests that go on remain failures`() throws {
    let unknown = "✘ Test «unknown» recorded an issue at A.swift:1:2: Caught error: b"
    let outcome = try self.judge([.fails(["a"], others: [unknown]), .passes("a")])
    #expect(outcome.failures == ["players: \(unknown)"] && outcome.flaky == ["a"])
  }

  @Test func `a failure whose issue another line hides is noted by the test's name`() throws {
    var run = TestRun.fails(["a"])
    run.lines.remove(at: 1)
    let outcome = try self.judge([run], "run_tests players 'EndToEndTests'")
    #expect(outcome.failures == ["players: Test \"a\" failed"])
    #expect(try self.judge([run, .passes("a")]).failures == [])
  }

  @Test func `more failures than the maximum are not repeated, and remain`() throws {
    let outcome = try self.judge([.fails(["a", "b", "c"])])
    #expect(outcome.failures.count == 3 && outcome.flaky == [])
    #expect(outcome.again == ["a: not repeated", "b: not repeated", "c: not repeated"])
    #expect(outcome.output.contains("not repeated, since more than 2 tests failed\n"))
  }

  @Test func `a filter that finds no test is a failure`() throws {
    let none = TestRun(status: 0, lines: ["✔ Test run with 0 tests in 0 suites passed after 0.1 seconds."])
    #expect(try self.judge([none]).failures == ["players: exit status 66"])
  }

  @Test func `lines of tests behind half a line of a program are read, those that an issue quotes are not`() throws {
    let lines = [
      "[info] 30 fps… ◇ Test \"a\" started.", "served ✘ Test \"a\" recorded an issue at A.swift:1:2: Caught error: b",
      "↳ ✘ Test \"quoted\" failed after 0.1 seconds with 1 issue.", "bytes: ✘ Test \"a\" failed after 0.1 seconds.",
      "half✔ Test \"b\" passed after 0.1 seconds.", "half ➜ Test \"c\" skipped.", "◇ Test \"d\" started.",
      "half figure: | a | latency, s | 0.7 | ≤ 1 |",
    ]
    let end = "half✘ Test run with 4 tests in 1 suite failed after 0.2 seconds with 1 issue."
    let outcome = try self.judge([TestRun(status: 1, lines: lines + [end]), .passes("a")])
    #expect(outcome.failures == [] && outcome.again == ["a: passed alone"] && outcome.flaky == ["a"])
    #expect(outcome.output.contains("players: 2 passed"))
    let crashed = try self.judge([TestRun(status: 139, lines: lines), .passes("a")])
    #expect(crashed.failures.filter { $0.has("did not end") } == ["players: did not end: \"d\""])
    #expect(crashed.output.contains("players: 1 passed"))
    let page = try self.page([TestRun(status: 1, lines: lines + [end]), .passes("a")])
    #expect(page.contains("\n| a | latency, s | 0.7 | ≤ 1 |\n"))
  }

  @Test func `tests that are named by their functions are noted, and repeated`() throws {
    let lines = [
      "◇ Test shows(frame:) started.",
      "✘ Test shows(frame:) recorded an issue with 1 argument frame → 1 at A.swift:1:2: Expectation failed: false",
      "✘ Test case passing 1 argument frame → 1 (Swift.Int) to shows(frame:) failed after 0.1 seconds with 1 issue.",
      "✘ Test shows(frame:) with 2 test cases failed after 0.1 seconds with 1 issue.",
      "✘ Test ends() failed after 0.1 seconds with 1 issue.",
      "✘ Test run with 2 tests in 1 suite failed after 0.2 seconds with 2 issues.",
    ]
    let run = TestRun(status: 1, lines: lines)
    let outcome = try self.judge([run], "run_tests players EndToEndTests")
    #expect(outcome.failures == ["players: \(lines[1])", "players: Test ends() failed"])
    #expect(outcome.output.contains("players: 0 passed"))
    let repeated = try self.judge([run, .passes("ends"), .fails(["shows"])])
    #expect(repeated.again == ["ends(): passed alone", "shows(frame:): failed again"])
    #expect(repeated.flaky == ["ends()"] && repeated.failures.count == 1)
  }

  @Test func `a run without a file of its exit status is a failure with its reason, and its log is judged`() throws {
    var run = TestRun.passes("a")
    run.status = nil
    #expect(try self.judge([run]).failures == ["players: ended with no known status after its tests"])
    let began = TestRun(status: nil, lines: [TestRun.started("a")] + TestRun.failure("a") + [TestRun.started("b")])
    let outcome = try self.judge([began, .passes("a")])
    #expect(
      outcome.failures == [
        "players: ended with no known status before the end of its tests; some may not have started",
        "players: did not end: \"b\"",
      ])
    let missing = try self.judge([], "judge_tests players \"$logs/none\"")
    #expect(missing.failures == [outcome.failures[0]])
  }

  @Test func `only the test of the whole name is repeated`() throws {
    let calls = "test_expression Smoke '\"a, b\"'; echo; test_expression '(EndToEnd|Smoke)' 'shows(frame:)'; echo"
    let lines = try self.judge([], calls).output.split(separator: "\n")
    let expressions = try lines.map { try Regex<AnyRegexOutput>(String($0)) }
    func finds(_ index: Int, _ test: String) -> Bool {
      "EndToEndTests.\(test)/A.swift:1:2".contains(expressions[index])
    }
    #expect(expressions.count == 2)
    #expect(finds(0, "Smoke/RTSP/`a, b`()") && finds(0, "Smoke/`a, b`(status:)"))
    #expect(!finds(0, "Smoke/RTSP/`a, b and c`()") && !finds(0, "Smoke/RTSP/`not a, b`()"))
    #expect(!finds(0, "EndToEnd/`a, b`()"))
    #expect(finds(1, "EndToEnd/Plays/shows(frame:)") && !finds(1, "EndToEnd/Plays/neverShows(frame:)"))
  }

  @Test func `a test that passed alone is counted once, one that failed again is not`() throws {
    var first = TestRun.fails(["a", "b"])
    first.lines.removeLast()
    first.lines.append("✘ Test run with 5 tests in 1 suite failed after 0.2 seconds with 2 issues.")
    // The expression may find tests of the same name in two suites.
    var other = TestRun.fails(["b"])
    other.lines[other.lines.count - 1] = "✘ Test run with 2 tests in 2 suites failed after 0.2 seconds with 1 issue."
    let page = try self.page([first, .passes("a", "a"), other])
    #expect(page.contains("\n4 tests passed.\n"))
    #expect(
      page.contains("Failed at first: 2, of which 1 passed alone.\n\n- a: passed alone\n- b: failed again\n"))
  }

  /// The page after runs of the long suite.
  private func page(_ runs: [TestRun], _ calls: String = "run_twice 'long suite' '(EndToEnd|Smoke)' 40") throws
    -> String
  {
    try self.judge(runs, "\(calls); report_long_suite \"$logs/input\" \"$logs/figures\" 60 0.5").page
  }

  @Test func `the report of a long suite that passed says so, with the worst figures, between its marks`() throws {
    var run = TestRun.passes("a", "b")
    run.lines += ["figure: | a | latency, s | 0.5 | ≤ 1 |", "figure: | a | latency, s | 0.7 | ≤ 1 |"]
    let page = try self.page([run])
    #expect(page.contains("\n2 tests passed. None failed.\n") && page.contains("\n| a | latency, s | 0.7 | ≤ 1 |\n"))
    #expect(page.hasPrefix("Before.\n<!-- long suite -->\nCommit ") && !page.contains("old"))
    #expect(page.hasSuffix("\n<!-- end of the long suite -->\nAfter.\n") && page.contains(", 60 s on "))
  }

  @Test func `the report names tests that passed alone`() throws {
    let page = try self.page([.fails(["a"]), .passes("a")])
    #expect(page.contains("Failed at first: 1, of which 1 passed alone.\n\n- a: passed alone\n"))
    #expect(page.contains("\n1 tests passed.\n") && !page.contains("None failed"))
  }

  @Test func `the report never says that none failed after a crash, too many failures, or failures of timing`() throws {
    let crash = TestRun(status: 139, lines: [TestRun.started("a"), "A/A.swift:1: Fatal error: a"])
    let crashed = try self.page([crash])
    #expect(!crashed.contains("None failed"))
    #expect(
      crashed.contains("- long suite: ended with status 139") && crashed.contains("- long suite: did not end: \"a\"\n"))
    let names = (0...40).map { "test \($0)" }
    let many = try self.page([.fails(names)])
    #expect(!many.contains("None failed") && many.contains("- test 40: not repeated\n"))
    #expect(many.contains("- long suite: ✘ Test \"test 40\" recorded an issue at "))
    let timing = try self.page(
      [.passes("a"), .fails(["b"])],
      "run_twice 'long suite' '(EndToEnd|Smoke)' 40; run_tests 'timing of unit tests: ServingTests' '^ServingTests\\.'")
    #expect(!timing.contains("None failed"))
    #expect(timing.contains("Failed:\n\n- timing of unit tests: ServingTests: ✘ Test \"b\" recorded an issue at "))
  }
}
