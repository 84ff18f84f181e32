/// A fault of a machine that is planted, with the cause that `vidicon check` must name, and the way to mend it.
struct MachineFault: CustomStringConvertible, Sendable {
  /// The next step that is printed, and the way that it is tried.
  enum Step: Sendable {
    /// A command that mends the fault, in full: run as it is printed.
    case mends(String)
    /// A command that shows more, in full, and words of its output: run as it is printed.
    case shows(String, String)
    /// A command that installs a package, in full: run as it is printed, with `--simulate`, since the machine reaches no archive.
    case installs(String)
    /// Words of an advice, and a line for root that does what it says; empty where other arguments or variables do.
    case advises(String, doing: String)
  }

  var description: String
  /// A line for a shell of root that makes the fault.
  var plant: String
  /// User of the check, and of the command.
  var user = OwnMachine.User.door
  /// Arguments of the check.
  var arguments: [String]
  /// Part of the report.
  var part: String
  /// Start of the subject of the finding.
  var subject: String
  var verdict = "fault"
  /// Words of its meaning.
  var cause: String
  var step: Step
  /// Variables of the check.
  var environment: [String: String] = [:]
  /// Options of a fake camera that the check finds; nil without one.
  var camera: String?
  /// A file while which a time service keeps the clock; nil for the clock of this machine.
  var clockService: String?
  /// A program, with its arguments, that runs the first check, or all of them where `keepsPrefix` is set.
  var prefix: [String] = []
  var keepsPrefix = false
  /// Arguments and variables of the check that follows; nil for those of the first.
  var laterArguments: [String]?
  var laterEnvironment: [String: String]?
  /// Whether the machine has systemd.
  var hasServices = false
  /// Whether another fault of the same subject is left, which is the machine's own.
  var leavesAnother = false
}

extension MachineFault {
  /// The finding of a report that is this fault; nil where there is none.
  func finding(in report: StreamReport) -> StreamReport.Finding? {
    report.findings.first { finding in
      finding.part == self.part && finding.subject.hasPrefix(self.subject) && finding.verdict == self.verdict
        && finding.meaning.contains(self.cause)
    }
  }

  /// Whether a report says that all of its subject is right.
  func isMended(in report: StreamReport) -> Bool {
    if self.leavesAnother { return self.finding(in: report) == nil }
    let findings = report.findings.filter { $0.part == self.part }
    return !findings.isEmpty && findings.allSatisfy { $0.verdict == "ok" || !$0.subject.hasPrefix(self.subject) }
  }
}
