@testable import VidiconCommand

/// A place of questions whose answers are given, and end.
struct ScriptedConsole: SetupConsole {
  /// Answers that are left.
  var answers: [String]
  /// Shown lines and asked questions, in their order; those for secrets begin with "secret: ".
  private(set) var lines: [String] = []

  /// A console with answers.
  init(_ answers: [String]) {
    self.answers = answers
  }

  mutating func show(_ line: String) {
    self.lines.append(line)
  }

  mutating func ask(_ question: String) -> String? {
    self.lines.append(question)
    return self.answers.isEmpty ? nil : self.answers.removeFirst()
  }

  mutating func askSecret(_ question: String) -> String? {
    self.ask("secret: \(question)")
  }
}

/// Numbers that are the same in each run.
struct CountingGenerator: RandomNumberGenerator {
  private var state: UInt64 = 1

  mutating func next() -> UInt64 {
    self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return self.state
  }
}
