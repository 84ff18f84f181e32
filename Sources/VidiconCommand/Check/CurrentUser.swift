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

extension CheckFinding {
  /// The finding whose command for a group of devices names a user, in place of the one who types it.
  ///
  /// - Parameter user: The name as one word of a shell.
  func naming(_ user: String) -> CheckFinding {
    guard case .command(let command)? = self.remedy, command.hasPrefix("sudo usermod ") else { return self }
    var finding = self
    let words = command.split(separator: " ", omittingEmptySubsequences: false)
    finding.remedy = .command(words.map { $0 == CurrentUser.variable ? user : String($0) }.joined(separator: " "))
    return finding
  }
}
