import CSystemCalls
import Libc

extension Terminal {
  /// Reads a line of standard input, which is not shown where it is typed; nil at the end of the input. Ctrl-C ends the program.
  ///
  /// - Parameter prompt: The question, for a terminal.
  static func readSecret(_ prompt: String) -> String? {
    guard self.isInputInteractive else { return readLine(strippingNewline: true) }
    // Before the question, so that the beginning of an answer is not shown either.
    guard vidicon_secret_begin() else { return nil }
    defer {
      vidicon_secret_end()
      // The line break of the Enter key, which was not shown.
      self.write("\n", to: STDERR_FILENO)
    }
    self.write("\(prompt): ", to: STDERR_FILENO)
    return readLine(strippingNewline: true)
  }
}
