import Libc

/// The user of this process, for commands.
enum CurrentUser {
  /// Text for a shell where the name is not known.
  static let variable = "$USER"

  /// The name as one word of a shell: on the page, `$USER` would be the operator who copies the command.
  static let word: String = {
    // The system's record is one for all threads.
    let user = getpwuid(geteuid())
    return user.map { String(cString: $0.pointee.pw_name).shellWord } ?? CurrentUser.variable
  }()
}
