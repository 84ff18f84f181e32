import Foundation
import Libc

extension Terminal {
  /// Reads a line of standard input, which is not shown where it is typed; nil at the end of the input.
  ///
  /// - Parameter prompt: The question, for a terminal.
  static func readSecret(_ prompt: String) -> String? {
    guard self.isInputInteractive else { return readLine(strippingNewline: true) }
    // getpass(3) shows nothing; its buffer belongs to the library.
    return getpass("\(prompt): ").map { String(cString: $0) }
  }
}
