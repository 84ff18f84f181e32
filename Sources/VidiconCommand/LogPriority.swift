import Foundation
import Libc

/// Priority of a line of the log, with the numbers of syslog(3).
enum LogPriority: Int, Sendable {
  /// The program ends, or a command has failed.
  case error = 3
  /// Something does not work, or not as it was asked for.
  case warning = 4
  /// Something has changed, as it was to.
  case notice = 5

  /// The name of the priority, for logs other than the journal.
  var name: String {
    switch self {
    case .error: "error"
    case .warning: "warning"
    case .notice: "notice"
    }
  }

  /// The mark by which the journal reads the priority of a line, sd-daemon(3).
  var mark: String { "<\(self.rawValue)>" }

  /// Whether a descriptor is connected to the journal, which reads marks.
  ///
  /// - Parameter stream: The variable `JOURNAL_STREAM`, `DEVICE:INODE` of the journal's stream in decimal numbers, systemd.exec(5); a parent
  ///   may have redirected the output meanwhile.
  static func isJournal(_ stream: String?, descriptor: Int32) -> Bool {
    let numbers = stream?.split(separator: ":", omittingEmptySubsequences: false).map { UInt64($0) } ?? []
    guard numbers.count == 2, let device = numbers[0], let file = numbers[1] else { return false }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return false }
    return UInt64(truncatingIfNeeded: status.st_dev) == device && UInt64(truncatingIfNeeded: status.st_ino) == file
  }
}
