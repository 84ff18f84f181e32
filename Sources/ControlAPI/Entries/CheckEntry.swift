/// The JSON of `/api/check` and `vidicon check --json`: what is wrong with the machine for the configuration.
package struct CheckEntry: Codable, Hashable, Sendable {
  /// Result of checking one thing, such as a port or a camera.
  package struct Finding: Codable, Hashable, Sendable {
    /// Part of the check, such as `ports`.
    package var part: String
    /// The thing that was checked.
    package var subject: String
    /// `ok`, `warning` or `fault`.
    package var verdict: String
    /// Condition that was found, and its consequence, in one line.
    package var meaning: String
    /// A line for a shell that mends it; nil without one.
    package var command: String?
    /// A sentence in its place; nil without one.
    package var advice: String?

    /// Creates a finding with nothing to mend.
    package init(part: String, subject: String, verdict: String, meaning: String) {
      self.part = part
      self.subject = subject
      self.verdict = verdict
      self.meaning = meaning
    }
  }

  /// Verdict of the worst finding.
  package var verdict: String
  /// All findings, in the order of the parts.
  package var findings: [Finding]
  /// Seconds since the check, rounded down; nil of the command, which prints what it has just found.
  package var age: Int?

  /// Creates the report of a check that has just ended.
  package init(verdict: String, findings: [Finding]) {
    self.verdict = verdict
    self.findings = findings
  }
}
