import Foundation
import Testing

/// The JSON of `vidicon check --json`.
struct StreamReport: Decodable, CustomStringConvertible {
  struct Finding: Decodable {
    var part: String
    var subject: String
    var verdict: String
    var meaning: String
    var advice: String?
    var command: String?

    /// The next step; nil where nothing is to be mended.
    var step: String? { self.advice ?? self.command }
  }

  var verdict: String
  var findings: [Finding]
  /// Time that the command took, from its start to its end.
  var seconds = 0.0

  private enum CodingKeys: CodingKey {
    case verdict, findings
  }

  /// Findings that are not all right, without those of clients, which repeat them.
  var problems: [Finding] { self.findings.filter { $0.verdict != "ok" && $0.part != "clients" } }

  var description: String {
    self.findings.map { "\($0.verdict) \($0.subject): \($0.meaning); \($0.step ?? "")" }.joined(separator: "\n")
  }

  /// Problems that no load of this machine explains: late responses, starts and segments are no part of them.
  var lasting: [Finding] {
    let subjects = [
      "address", "session", "parameter sets", "profile", "B-frames", "codecs", "candidates", "images", "RTP over UDP",
      "RTSP",
    ]
    return self.problems.filter { problem in
      ["certificates", "login", "web"].contains(problem.part)
        || subjects.contains(problem.subject) && !problem.meaning.contains("the server takes")
        || problem.meaning.contains("breaks a rule")
    }
  }

  /// Whether a problem is about a subject, with a next step.
  func names(_ subject: String) -> Bool {
    self.problems.contains { $0.subject == subject && $0.step != nil }
  }

  /// Runs `vidicon check`, whose exit status must be that of its verdict.
  static func check(_ arguments: [String], environment: [String: String] = [:]) async throws -> StreamReport {
    let start = ContinuousClock.now
    let child = try ChildProcess(VidiconProcess.path(), ["check", "--json"] + arguments, environment: environment)
    let exit = await child.end(within: .seconds(300))
    let seconds = inSeconds(ContinuousClock.now - start)
    await child.output.end()
    await child.errors.end()
    var report = try JSONDecoder().decode(StreamReport.self, from: Data(child.output.bytes))
    report.seconds = seconds
    let status: [String: Int32] = ["ok": 0, "warning": 1, "fault": 2]
    let expected = try #require(status[report.verdict])
    #expect(exit == .status(expected), "\(child.errors.text)")
    return report
  }
}
