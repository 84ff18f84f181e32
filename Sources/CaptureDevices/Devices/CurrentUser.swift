internal import Libc
internal import Media

/// The user of this process, for commands that people type.
package enum CurrentUser {
  /// Text for a shell where the name is not known.
  package static let variable = "$USER"

  /// The name as one word of a shell: on a page, `$USER` would be the operator who copies the command.
  package static let word: String = {
    // The system's record is one for all threads.
    let user = getpwuid(geteuid())
    return user.map { String(cString: $0.pointee.pw_name).shellWord } ?? CurrentUser.variable
  }()

  /// Whether this process is a service with a folder for its state, which systemd names in `STATE_DIRECTORY`, systemd.exec(5).
  package static let isService = getenv("STATE_DIRECTORY") != nil

  /// Beginning of a command that another user of this machine types, to have it run as this one.
  ///
  /// For a service root does so: its user may exist only while it runs, and the folder of its state is in one that root alone enters.
  package static let substitute: String = {
    if CurrentUser.isService || geteuid() == 0 { return "sudo" }
    return CurrentUser.word == CurrentUser.variable ? "sudo -u '#\(geteuid())'" : "sudo -u \(CurrentUser.word)"
  }()

  /// The next step where this user is not in the group of a device.
  ///
  /// - Parameters:
  ///   - user: The name as one word of a shell.
  ///   - isService: Whether this process is a service, whose unit has its groups.
  package static func nextStep(
    joining group: String, user: String = CurrentUser.word, isService: Bool = CurrentUser.isService
  ) -> String {
    isService
      ? "add SupplementaryGroups=\(group) to the unit of the service with sudo systemctl edit, and restart it"
      : "run: sudo usermod -aG \(group.shellWord) \(user), then log in again"
  }
}
