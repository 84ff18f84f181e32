import CaptureDevices
import Libc
import Media

/// Facts about a configuration: whether `serve` accepts it, and which settings have no effect.
struct ConfigurationFacts: Sendable {
  /// Path of the file; nil without one.
  var file: String?
  /// Path of the file for commands; nil for the same.
  var commandFile: String?
  /// Whether the file is this user's own, or this user is root, who may read each file.
  var isOwnFile = true
  /// Name of this user as one word of a shell.
  var user = CurrentUser.variable
  /// Names of the streams.
  var streams: [String]
  /// Reason why it cannot be read, so that other parts of a check are about the defaults; nil where it can.
  var failure: VidiconError?
  /// Reason why `serve` would end with what was read; nil where it accepts the configuration.
  var refusal: VidiconError?
  /// Lines about the file that its owner is to know, each `SUBJECT: TEXT`.
  var warnings: [String] = []
  /// Lines about settings without effect, each `SUBJECT: TEXT`.
  var ineffective: [String] = []

  /// One finding for each thing that is wrong, or one that all is right.
  var findings: [CheckFinding] {
    if let failure {
      return [
        CheckFinding(failure),
        .ok("other lines", "they are about the defaults, since this configuration cannot be read"),
      ]
    }
    var findings = self.refusal.map { [CheckFinding($0)] } ?? []
    for line in self.warnings {
      let (subject, text) = self.parts(ofWarning: line)
      var finding = CheckFinding(subject, problem: text, verdict: .warning)
      if text.hasSuffix(" chmod 600") { finding.remedy = self.hiding(self.commandFile ?? self.file ?? subject) }
      findings.append(finding)
    }
    for line in self.ineffective {
      let (subject, text) = Self.parts(of: line)
      findings.append(.warning(subject, text, self.remedyOfIneffective))
    }
    guard findings.isEmpty else { return findings }
    let name = self.file?.pathWithoutCredentials() ?? "configuration"
    return [.ok(name, "serve accepts it, with \(self.streams.joined(separator: ", "))")]
  }

  /// The command that keeps other users from reading a file; one of another owner would then be closed to this user, too.
  private func hiding(_ path: String) -> CheckFinding.Remedy {
    let word = path.shellWord
    return .command(
      self.isOwnFile ? "chmod 600 \(word)" : "sudo chown \(self.user) \(word) && sudo chmod 600 \(word)")
  }

  /// The way to a setting without effect: that of a file is among all that it says, with the origin of each.
  private var remedyOfIneffective: CheckFinding.Remedy {
    guard let file = self.commandFile ?? self.file else { return .advice("leave it out, or change what makes it so") }
    return .command("vidicon config print \(file.pathWithoutCredentials().shellWord)")
  }

  /// The parts of a line about the file, whose path may have a colon and a space.
  private func parts(ofWarning line: String) -> (subject: String, text: String) {
    guard let file, line.hasPrefix("\(file): ") else { return Self.parts(of: line) }
    return (file, String(line.dropFirst("\(file): ".count)))
  }

  private static func parts(of line: String) -> (subject: String, text: String) {
    let parts = line.split(separator: ": ", maxSplits: 1)
    return (parts.count == 2 ? String(parts[0]) : "configuration", String(parts.last ?? ""))
  }
}

extension ConfigurationFacts {
  /// Checks a configuration as `serve` does at its start, without opening a port, an encoder or a source.
  ///
  /// - Parameter folder: Folder of relative paths, for commands that are typed in another one; nil where they are typed in this one.
  init(_ reading: ConfigurationReading, in folder: String? = nil) {
    let configuration = reading.configuration
    self.init(file: reading.file, streams: configuration.streams.map(\.name), failure: reading.failure)
    guard reading.failure == nil else { return }
    self.commandFile = folder.flatMap { folder in reading.file.map { ServiceFolder.resolved($0, in: folder) } }
    var status = stat()
    if let file, stat(file, &status) == 0 { self.isOwnFile = [0, status.st_uid].contains(geteuid()) }
    self.user = CurrentUser.word
    do throws(VidiconError) {
      try configuration.validate()
      try configuration.checkFiles()
    } catch {
      self.refusal = error
    }
    self.warnings = configuration.warnings
    self.ineffective = configuration.ineffectiveSettings
  }
}
