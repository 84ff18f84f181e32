import Libc
package import Media

extension VidiconError {
  /// A wrong option or configuration, which ends the program with exit status 64.
  ///
  /// - Parameter subject: The option, or its value in quotation marks.
  static func usage(_ subject: String, _ cause: String, _ nextStep: String) -> VidiconError {
    VidiconError(.invalidSpecification, subject: subject, cause: cause, nextStep: nextStep)
  }

  /// The program's exit status: 64 for a wrong option or configuration (`EX_USAGE` of `sysexits.h`), else 1.
  package var exitStatus: Int32 {
    self.code == .invalidSpecification ? EX_USAGE : 1
  }

  /// The same error of a part of something, such as a stream: its subject comes first.
  func of(_ whole: String) -> VidiconError {
    var error = self
    error.subject = "\(whole): \(self.subject)"
    return error
  }
}

/// A value of an option in a message: in quotation marks, without anything that may be a password or token.
func quoted(_ text: some StringProtocol) -> String {
  "\"\(text.withoutCredentials())\""
}
