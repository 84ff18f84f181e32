import Media

/// Result of checking one thing, such as a port or a camera: a line of the report.
struct CheckFinding: Equatable, Sendable {
  /// Severity of a finding.
  enum Verdict: Comparable, Sendable {
    /// All right, or nothing that this configuration needs.
    case ok
    /// Streams are served, and something is worse than it could be, or soon will be.
    case warning
    /// Something that the configuration asks for does not work.
    case fault

    /// The word for it in text and JSON.
    var name: String {
      switch self {
      case .ok: "ok"
      case .warning: "warning"
      case .fault: "fault"
      }
    }
  }

  /// Action that mends the cause.
  enum Remedy: Equatable, Sendable {
    /// A line for a shell.
    case command(String)
    /// An imperative, lowercase, without a full stop.
    case advice(String)
  }

  /// The thing that was checked, such as `port 8080`.
  var subject: String
  /// Severity of what was found.
  var verdict: Verdict
  /// Condition that was found, and its consequence, in one line.
  var meaning: String
  /// Nil where there is nothing to mend.
  var remedy: Remedy?

  static func ok(_ subject: String, _ meaning: String) -> CheckFinding {
    CheckFinding(subject: subject, verdict: .ok, meaning: meaning)
  }

  static func warning(_ subject: String, _ meaning: String, _ remedy: Remedy?) -> CheckFinding {
    CheckFinding(subject: subject, verdict: .warning, meaning: meaning, remedy: remedy)
  }

  static func fault(_ subject: String, _ meaning: String, _ remedy: Remedy?) -> CheckFinding {
    CheckFinding(subject: subject, verdict: .fault, meaning: meaning, remedy: remedy)
  }
}

extension CheckFinding {
  /// The finding of an error: its cause is the meaning, its next step the remedy.
  ///
  /// - Parameter subject: The thing that was checked; nil for the error's own subject.
  init(_ error: VidiconError, subject: String? = nil, verdict: Verdict = .fault) {
    self.init(
      subject: subject ?? error.subject, verdict: verdict, meaning: error.cause,
      remedy: Remedy(nextStep: error.nextStep))
  }

  /// The finding of a device's problem, `CAUSE; NEXT STEP`.
  init(_ subject: String, problem: String, verdict: Verdict) {
    let parts = problem.split(separator: "; ", maxSplits: 1)
    self.init(
      subject: subject, verdict: verdict, meaning: String(parts.first ?? "it cannot be used"),
      remedy: parts.count == 2 ? Remedy(nextStep: String(parts[1])) : nil)
  }
}

extension CheckFinding {
  /// The finding for a shell of root.
  var forRoot: CheckFinding {
    var finding = self
    finding.remedy = self.remedy.map(\.forRoot)
    return finding
  }

  /// The finding for a shell of another user of this machine.
  ///
  /// - Parameter prefix: Beginning of a command that runs as the user of this process, such as `sudo -u door`.
  func forOthers(_ prefix: String) -> CheckFinding {
    var finding = self
    finding.remedy = self.remedy.map { $0.forOthers(prefix) }
    return finding
  }
}

extension CheckFinding.Remedy {
  /// The remedy for a shell of root, which needs no sudo(8): where root logs in, that is often not installed.
  var forRoot: CheckFinding.Remedy {
    guard case .command(let command) = self else { return self }
    let words = Self.words(of: command)
    let kept = words.indices.filter { words[$0] != "sudo" || !Self.isStart($0, of: words) }
    return .command(kept.map { words[$0] }.joined(separator: " "))
  }

  /// The remedy for a shell of another user of this machine, who may use sudo(8).
  ///
  /// - Parameter prefix: Beginning of a command that runs as the user of this process.
  func forOthers(_ prefix: String) -> CheckFinding.Remedy {
    guard case .command(let command) = self else { return self }
    let words = Self.words(of: command)
    let others = words.indices.map { index in
      Self.isStart(index, of: words) && !Self.sharedCommands.contains(words[index])
        ? "\(prefix) \(words[index])" : words[index]
    }
    return .command(others.joined(separator: " "))
  }

  /// Commands of root, and those that show the same to each user.
  private static let sharedCommands: Set<String> = ["sudo", "ip", "timedatectl"]

  /// Whether a word is the first one of a command, of which `&&` joins several.
  private static func isStart(_ index: Int, of words: [String]) -> Bool { index == 0 || words[index - 1] == "&&" }

  /// The words of a command, of which those in quotation marks may have spaces.
  private static func words(of command: String) -> [String] {
    var words = [""]
    var (isQuoted, isEscaped) = (false, false)
    for character in command {
      if character == " ", !isQuoted, !isEscaped {
        words.append("")
        continue
      }
      words[words.count - 1].append(character)
      if isEscaped {
        isEscaped = false
      } else if character == "\\", !isQuoted {
        isEscaped = true
      } else if character == "'" {
        isQuoted.toggle()
      }
    }
    return words
  }

  /// The remedy in an error's next step, of which `run: COMMAND` is a command, and what follows a comma a comment for the shell.
  init(nextStep: String) {
    guard nextStep.hasPrefix("run: ") else {
      self = .advice(nextStep)
      return
    }
    let text = nextStep.dropFirst("run: ".count)
    guard let comma = text.firstRange(of: ", ") else {
      self = .command(String(text))
      return
    }
    self = .command("\(text[..<comma.lowerBound])  # \(text[comma.upperBound...])")
  }
}
