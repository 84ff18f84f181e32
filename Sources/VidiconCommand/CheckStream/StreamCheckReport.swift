/// Text of a check of a stream for the tracker of a project: findings and observations, without secrets.
struct StreamCheckReport {
  /// The address without user, password and query.
  var address: String
  var report: CheckReport
  /// Lines about what was observed.
  var observations: [String]

  /// The text in Markdown.
  var text: String {
    let lines =
      [
        "vidicon check \(self.address)", "vidicon \(ProgramVersion.text)", "", "## Findings", "", "```",
      ] + self.report.lines + ["```", "", "## Observations", "", "```"] + self.observations + ["```"]
    return lines.map { Terminal.oneLine($0) }.joined(separator: "\n") + "\n"
  }
}
