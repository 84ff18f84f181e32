/// An error that ends the program with an exit status; its message is one line with cause and next step.
package struct Failure: Error {
  package var message: String
  /// Exit status: 64 for a wrong option or configuration (EX_USAGE in sysexits.h), else 1.
  package var status: Int32 = 1

  /// A failure of the system: exit status 1.
  init(_ message: String) {
    self.message = message
  }

  /// A wrong option or configuration: exit status 64.
  static func usage(_ message: String) -> Failure {
    var failure = Failure(message)
    failure.status = 64
    return failure
  }
}
