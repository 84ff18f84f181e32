/// Finding of a check of a stream, with the clients that it keeps from playing.
struct StreamFinding: Equatable, Sendable {
  /// Part of the check.
  var part: CheckPart
  /// Line of the report.
  var finding: CheckFinding
  /// Clients that do not play because of it.
  var blocks: Set<StreamClient> = []
  /// Clients that play late because of it.
  var delays: Set<StreamClient> = []

  init(
    _ part: CheckPart, _ finding: CheckFinding, blocks: Set<StreamClient> = [], delays: Set<StreamClient> = []
  ) {
    self.part = part
    self.finding = finding
    self.blocks = blocks
    self.delays = delays
  }
}

extension StreamFinding {
  /// Finding about the schemes by which a server asks for a password that the address has.
  static func login(_ schemes: [String], isEncrypted: Bool) -> StreamFinding {
    let text = schemes.joined(separator: ", ")
    let hasDigest = schemes.contains { $0.lowercased() == "digest" }
    guard !hasDigest, !isEncrypted else { return StreamFinding(.login, .ok("login", text)) }
    return StreamFinding(
      .login,
      .warning(
        "login", "\(text) without TLS: the password can be read on the network",
        .advice("switch on Digest (RFC 7616) or TLS at the server")))
  }
}

/// Result of a check of a stream: what was found, for the clients that its protocol has.
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
