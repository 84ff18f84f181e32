/// Result of a check of a stream: findings, for the clients that its protocol has.
struct StreamVerdict: Equatable, Sendable {
  /// Clients of the protocol; the first one is what the address is for.
  var clients: [StreamClient]
  var findings: [StreamFinding]
  /// Observations for a report to developers: lines without addresses and secrets.
  var observations: [String] = []
  /// Word for a client without an obstacle: where no media is received, no more is known than that it connects.
  var success = "plays"

  /// A line for each client: plays, plays late, or does not, with the reason. Only the first client makes a fault of the last.
  var clientFindings: [CheckFinding] {
    self.clients.enumerated().map { index, client -> CheckFinding in
      if let reason = self.findings.first(where: { $0.blocks.contains(client) }) {
        let meaning = "does not play, because \(Self.reason(reason.finding))"
        return index == 0
          ? .fault(client.rawValue, meaning, reason.finding.remedy)
          : .warning(client.rawValue, meaning, reason.finding.remedy)
      }
      if let reason = self.findings.first(where: { $0.delays.contains(client) }) {
        return .warning(
          client.rawValue, "plays late, because \(Self.reason(reason.finding))", reason.finding.remedy)
      }
      return .ok(client.rawValue, self.success)
    }
  }

  private static func reason(_ finding: CheckFinding) -> String { "\(finding.subject): \(finding.meaning)" }

  /// All findings by their part, those of the clients among them.
  var sections: [CheckPart: [CheckFinding]] {
    var sections: [CheckPart: [CheckFinding]] = [.clients: self.clientFindings]
    for finding in self.findings { sections[finding.part, default: []].append(finding.finding) }
    return sections
  }
}
