/// What ends the program: one line that says what happened and what to do, and an exit status.
struct Failure: Error {
  var message: String
  /// 64 for a wrong option or configuration (EX_USAGE in sysexits.h), else 1.
  var status: Int32 = 1

  /// Something is missing, taken or broken.
  init(_ message: String) {
    self.message = message
  }

  /// A wrong option or configuration.
  static func usage(_ message: String) -> Failure {
    var failure = Failure(message)
    failure.status = 64
    return failure
  }
}
