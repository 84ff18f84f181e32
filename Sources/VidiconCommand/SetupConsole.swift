/// A place where `vidicon setup` asks its questions.
protocol SetupConsole {
  /// Shows a line.
  mutating func show(_ line: String)
  /// Asks a question; nil at the end of the input.
  mutating func ask(_ question: String) -> String?
  /// Asks a question whose answer is not shown; nil at the end of the input.
  mutating func askSecret(_ question: String) -> String?
}

/// Standard input and output as a place for questions.
struct TerminalConsole: SetupConsole {
  func show(_ line: String) {
    Terminal.print(line)
  }

  func ask(_ question: String) -> String? {
    Terminal.print("\(question):")
    return readLine(strippingNewline: true)
  }

  func askSecret(_ question: String) -> String? {
    Terminal.readSecret(question)
  }
}
