import Media

/// Facts about a configuration: whether `serve` accepts it, and which settings have no effect.
struct ConfigurationFacts: Sendable {
  /// Path of the file; nil without one.
  var file: String?
  /// Names of the streams.
  var streams: [String]
  /// Reason why `serve` would end; nil where it accepts the configuration.
  var failure: VidiconError?
  /// Lines about the file that its owner is to know, each `SUBJECT: TEXT`.
  var warnings: [String] = []
  /// Lines about settings without effect, each `SUBJECT: TEXT`.
  var ineffective: [String] = []

  /// One finding for each thing that is wrong, or one that all is right.
  var findings: [CheckFinding] {
    let name = self.file?.pathWithoutCredentials() ?? "configuration"
    if let failure {
      return [CheckFinding(failure)]
        + [.ok("other lines", "they are about the defaults, since serve does not accept this configuration")]
    }
    let notes =
      self.warnings.map { line -> CheckFinding in
        let (subject, text) = Self.parts(of: line)
        return CheckFinding(subject, problem: text, verdict: .warning)
      }
      + self.ineffective.map { line -> CheckFinding in
        let (subject, text) = Self.parts(of: line)
        let file = self.file.map { " \($0.pathWithoutCredentials().shellWord)" } ?? ""
        return .warning(subject, text, .command("vidicon config print\(file)"))
      }
    let streams = self.streams.joined(separator: ", ")
    return notes.isEmpty ? [.ok(name, "serve accepts it, with \(streams)")] : notes
  }

  private static func parts(of line: String) -> (subject: String, text: String) {
    let parts = line.split(separator: ": ", maxSplits: 1)
    return (parts.count == 2 ? String(parts[0]) : "configuration", String(parts.last ?? ""))
  }
}

extension ConfigurationFacts {
  /// Checks a configuration as `serve` does at its start, without opening a port, an encoder or a source.
  init(_ reading: ConfigurationReading) {
    let configuration = reading.configuration
    self.init(file: reading.file, streams: configuration.streams.map(\.name), failure: reading.failure)
    guard reading.failure == nil else { return }
    do throws(VidiconError) {
      try configuration.validate()
      try configuration.checkFiles()
    } catch {
      self.failure = error
    }
    self.warnings = configuration.warnings
    self.ineffective = configuration.ineffectiveSettings
  }
}
