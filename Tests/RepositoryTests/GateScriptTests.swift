import Foundation
import Testing

/// `scripts/test`, `scripts/smoke-proof` and `scripts/run` as they are, in a folder of their own, whose tools note their calls.
@Suite("scripts/test, scripts/smoke-proof and scripts/run, among tools that note their calls")
struct GateScriptTests {
  private struct Outcome {
    var status: Int32
    var output: String
    var errors: String
    /// Calls of tools with their arguments, and the variables VIDICON… of the tests.
    var calls: Set<String>
    /// Content of `.build/gate`; nil without that file.
    var gate: String?
  }

  /// Body of the program of tests where all of them pass.
  private static let passing = #"""
    printf '%s\n' '◇ Test "a" started.' '✔ Test "a" passed after 0.1 seconds.' \
      '✔ Test run with 1 test in 1 suite passed after 0.2 seconds.'
    """#

  /// Runs a script.
  ///
  /// - Parameters:
  ///   - command: Line of Bash in the folder, where `.build/gate` has the commit of an earlier run.
  ///   - build: Body of `swift`, in Bash.
  ///   - tests: Body of the program of the tests, in Bash.
  private func run(_ command: String, build: String = "", tests: String = Self.passing) throws -> Outcome {
    let script = #"""
      set -euo pipefail
      unset "${!VIDICON@}"
      folder=$(mktemp -d)
      trap 'rm -rf "$folder"' EXIT
      mkdir -p "$folder"/{bin,.build/debug} "$folder"/Tests/{RTP,WebPage,Serving,EndToEnd}Tests
      cp -r scripts "$folder/scripts"
      cd "$folder"
      tool() {
        printf '#!/usr/bin/env bash\nprintf "%%s\\n" "%s $*" >>"%s/calls"\n%s\n' "${1##*/}" "$folder" "$2" >"$1"
        chmod +x "$1"
      }
      tool bin/swift "$2"
      tool .build/debug/vidiconPackageTests.xctest "for name in \${!VIDICON@}; do
        printf '%s=%s\n' \"\$name\" \"\${!name}\" >>'$folder/calls'
      done
      $3"
      for name in bin/shellcheck bin/node scripts/setup scripts/docs; do tool "$name" ''; done
      tool bin/git '[ "$1" != rev-parse ] || echo c0ffee'
      printf 'earlier\n' >.build/gate
      PATH=$folder/bin:$PATH
      status=0
      # The work directories of a script are below this one, so that none of them is left.
      mkdir work
      # A thread of tasks blocks all signals, and what it starts inherits that.
      TMPDIR=$folder/work python3 -c '
      import os, signal, sys
      signal.pthread_sigmask(signal.SIG_SETMASK, [])
      os.execvp("bash", ["bash", "-c", sys.argv[1]])' "$1" >output 2>errors || status=$?
      printf '%s\0' "$status" "$(cat output)" "$(cat errors)" "$(sort -u calls)" "$(cat .build/gate 2>/dev/null)" "$(ls work)"
      """#
    let run = try Repository.run(["bash", "-c", script, "bash", command, build, tests])
    let parts = run.output.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
    try #require(run.status == 0 && parts.count == 7, "\(run)")
    #expect(parts[5] == "", "files are left")
    return Outcome(
      status: try #require(Int32(parts[0])), output: parts[1], errors: parts[2],
      calls: Set(parts[3].split(separator: "\n").map(String.init)), gate: parts[4].isEmpty ? nil : parts[4])
  }

  private static let nodeCall = "node --test Tests/WebPageTests/JavaScript/*.test.mjs"

  @Test func `a gate that passes calls every tool once, and names its commit`() throws {
    let outcome = try self.run("scripts/test")
    #expect(outcome.status == 0, "\(outcome)")
    #expect(outcome.gate?.hasPrefix("c0ffee ") == true)
    #expect(outcome.output.contains(/\npassed: [1-9]\d* tests passed, 0 failures, 0 flaky, \d+ s/))
    #expect(outcome.calls.isSuperset(of: ["setup ", "setup --tests", "docs ", Self.nodeCall]))
  }

  @Test func `after a failed build the steps that need none run, all failures are printed, and no commit is named`()
    throws
  {
    let outcome = try self.run(
      "scripts/test", build: #"[ "$1" != build ] || { echo 'error: no such module'; exit 1; }"#)
    #expect(outcome.status == 1 && outcome.gate == nil)
    #expect(outcome.calls.contains(Self.nodeCall) && outcome.calls.contains { $0.hasPrefix("shellcheck -x ") })
    #expect(outcome.calls.contains("setup --tests") && !outcome.calls.contains("docs "))
    #expect(!outcome.calls.contains { $0.hasPrefix("vidiconPackageTests") })
    let end = outcome.output.components(separatedBy: "== what failed").last ?? ""
    #expect(end.contains("\nbuilding the tests\nthe tests did not run, and nothing else that needs the build\n"))
    #expect(end.contains("\nFAILED: 0 tests passed, 2 failures, 0 flaky, "))
  }

  /// Makes a program that prints its arguments, as `swift build` does, with a line of progress.
  private static let build = #"""
    if [ "${*: -1}" = --show-bin-path ]; then
      echo "$PWD/built"
    else
      echo '[7/9] Compiling A'
      mkdir -p built
      printf '#!/bin/sh\necho "program $*"\n' >built/vidicon
      chmod +x built/vidicon
    fi
    """#

  @Test func `a camera is built alone, with its progress beside the program's output, and started`() throws {
    let first = try self.run("scripts/run --source bars", build: Self.build)
    #expect(first.status == 0 && first.output == "program serve --source bars", "\(first)")
    #expect(first.errors.hasPrefix("run: building vidicon for release; the first time takes "))
    #expect(first.errors.hasSuffix("\n[7/9] Compiling A"))
    let calls = first.calls.filter { $0.hasPrefix("swift ") }
    #expect(first.calls.contains("setup ") && calls.count == 2)
    #expect(calls.allSatisfy { $0.contains(" -c release --product vidicon") }, "\(calls)")
    // Later builds are short.
    let second = try self.run("scripts/run --source bars 2>/dev/null && scripts/run --json", build: Self.build)
    #expect(second.output == "program serve --source bars\nprogram serve --json", "\(second)")
    #expect(second.errors == "[7/9] Compiling A", "\(second)")
  }

  @Test func `a gate that fails leaves no commit named`() throws {
    let outcome = try self.run("scripts/test", tests: "exit 1")
    #expect(outcome.status == 1 && outcome.gate == nil)
    #expect(outcome.output.contains("ended with status 1 before the end of its tests"))
  }

  @Test func `the gate's tests get no variable of the caller but the folder of models`() throws {
    let variables =
      "VIDICON=/other VIDICON_TEST_TIMING=1 VIDICON_SEEDS=9 VIDICON_TESTS=RTPTests VIDICON_PUSH=rtmp://a/b"
    let gate = try self.run("\(variables) VIDICON_MODELS=/models scripts/test")
    #expect(gate.status == 0)
    #expect(
      Set(gate.calls.filter { $0.hasPrefix("VIDICON") })
        == ["VIDICON_MODELS=/models", "VIDICON_TEST_TIMEOUT_FACTOR=10"])
    let room = try self.run("\(variables) scripts/test RTP")
    #expect(room.status == 0 && room.gate == "earlier")
    #expect(
      Set(room.calls.filter { $0.hasPrefix("VIDICON") }) == [
        "VIDICON_TEST_TIMING=1", "VIDICON_SEEDS=9", "VIDICON_TESTS=RTPTests",
      ])
  }

  /// Starts a script whose tests begin programs that go on for ever and ignore SIGINT, sends a signal to the script once they run, and
  /// prints those that are left.
  private func interrupt(_ script: String, signal: String) throws -> Outcome {
    let tests = #"""
      bash -c 'trap "" INT; printf "%s\n" $$ >>running; exec tail -f /dev/null' &
      printf '%s\n' "$$" >>running
      exec tail -f /dev/null
      """#
    let command = #"""
      # A script that runs in the background of another would ignore SIGINT.
      python3 - <<'PYTHON' & script=$!
      import os, signal
      signal.signal(signal.SIGINT, signal.SIG_DFL)
      os.execvp("bash", ["bash"] + "\#(script)".split())
      PYTHON
      for _ in {1..3000}; do
        [ "$(cat running 2>/dev/null | wc -l)" -lt 2 ] || break
        sleep 0.1
      done
      kill -\#(signal) "$script"
      status=0
      wait "$script" || status=$?
      while read -r pid; do
        ! grep -qs '^State:.[^Z]' "/proc/$pid/status" || printf 'left: %s\n' "$pid"
      done <running
      exit "$status"
      """#
    return try self.run(command, tests: tests)
  }

  @Test(arguments: [("scripts/test", "INT"), ("scripts/test RTP", "TERM"), ("scripts/smoke-proof 2 RTP", "INT")])
  func `a signal ends a script and all that it has started, with one line`(script: String, signal: String) throws {
    let outcome = try self.interrupt(script, signal: signal)
    #expect(outcome.status == 130, "\(outcome)")
    #expect(!outcome.output.contains("left: "))
    #expect(outcome.errors.wholeMatch(of: /\n?interrupted after \d+ s; all that was started has ended\n?/) != nil)
  }

  @Test func `a proof counts runs whose tests pass`() throws {
    let outcome = try self.run("scripts/smoke-proof 2 RTP")
    #expect(outcome.status == 0 && outcome.output.hasSuffix("^RTPTests\\.: 2 of 2"), "\(outcome)")
  }

  @Test(arguments: [
    "exit 0", "printf '%s\\n' '✔ Test run with 0 tests in 0 suites passed after 0.1 seconds.'",
    "printf '%s\\n' '✔ Test \"a\" passed after 0.1 seconds.'", "kill -KILL $$",
  ]) func `a run of a proof without tests, or that ends before its last line, has not passed`(tests: String) throws {
    let outcome = try self.run("scripts/smoke-proof 2", tests: tests)
    #expect(outcome.status == 1 && outcome.output.hasSuffix("^EndToEndTests\\.Smoke/: 0 of 2"), "\(outcome)")
  }
}
