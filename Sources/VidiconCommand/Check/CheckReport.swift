import ControlAPI

/// Findings of a check, as lines for people or JSON for programs.
struct CheckReport: Sendable {
  /// Findings of a part.
  struct Section: Sendable {
    var part: CheckPart
    var findings: [CheckFinding]
  }

  /// The parts, in their order.
  let sections: [Section]

  /// A report of the findings of parts, of which some may have none.
  init(_ findings: [CheckPart: [CheckFinding]]) {
    self.sections = CheckPart.allCases.compactMap { part in findings[part].map { Section(part: part, findings: $0) } }
  }

  /// All findings, in the order of the parts.
  var findings: [CheckFinding] { self.sections.flatMap(\.findings) }

  /// The worst of all verdicts.
  var verdict: CheckFinding.Verdict { self.findings.map(\.verdict).max() ?? .ok }

  /// Exit status of the program: 0 where all is right, 1 with a warning, 2 with a fault.
  var exitStatus: Int32 {
    switch self.verdict {
    case .ok: 0
    case .warning: 1
    case .fault: 2
    }
  }

  /// The report for a shell of root, whose commands need no sudo(8).
  var forRoot: CheckReport {
    CheckReport(
      Dictionary(uniqueKeysWithValues: self.sections.map { ($0.part, $0.findings.map(\.forRoot)) }))
  }

  /// Maximum width of the column of subjects; a wider one moves its meaning to the right.
  private static let maximumSubjectWidth = 32

  /// One line for each finding, with a second one for its remedy, and a summary.
  var lines: [String] {
    let width = min(Self.maximumSubjectWidth, self.findings.map(\.subject.count).max() ?? 0)
    func padded(_ text: String, _ width: Int) -> String {
      text + String(repeating: " ", count: max(0, width - text.count))
    }
    var lines: [String] = []
    for finding in self.findings {
      let verdict = padded(finding.verdict.name, "warning".count)
      lines.append(Terminal.oneLine("\(verdict)  \(padded(finding.subject, width))  \(finding.meaning)"))
      switch finding.remedy {
      case .command(let command): lines.append(Terminal.oneLine("         run: \(command)"))
      case .advice(let advice): lines.append(Terminal.oneLine("         \(advice)"))
      case nil: break
      }
    }
    return lines + [self.summary]
  }

  /// The numbers of faults and warnings in one line.
  private var summary: String {
    func count(_ verdict: CheckFinding.Verdict) -> String? {
      let count = self.findings.count { $0.verdict == verdict }
      return count == 0 ? nil : "\(count) \(verdict.name)\(count == 1 ? "" : "s")"
    }
    let counts = [count(.fault), count(.warning)].compactMap(\.self)
    return counts.isEmpty ? "all right" : counts.joined(separator: ", ")
  }
}

extension CheckReport {
  /// The JSON of the report, each finding with its part.
  var entry: CheckEntry {
    CheckEntry(
      verdict: self.verdict.name,
      findings: self.sections.flatMap { section in
        section.findings.map { CheckEntry.Finding($0, of: section.part) }
      })
  }
}

extension CheckEntry.Finding {
  /// The JSON of a finding.
  fileprivate init(_ finding: CheckFinding, of part: CheckPart) {
    self.init(
      part: part.rawValue, subject: finding.subject, verdict: finding.verdict.name, meaning: finding.meaning)
    switch finding.remedy {
    case .command(let command): self.command = command
    case .advice(let advice): self.advice = advice
    case nil: break
    }
  }
}

/// Parts of a check, in the order of the report: those of this machine, and those of a stream.
enum CheckPart: String, CaseIterable, Sendable {
  case configuration, ports, addresses, firewall, discovery, cameras, microphones, screen, encoder, models, recordings,
    clock
  case clients, connection
  /// Of this machine, or of the server of a stream.
  case certificates
  case files
  case login, tracks, video, audio, timing, transport, playlist, web
}
