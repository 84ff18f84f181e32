internal import Libc
internal import Media

/// Decides which files a retention rule removes. Pure: the files and the time are arguments.
///
/// A file is removed only when it is finished, was written by the same recorder (``RecordingIdentity``), and is not
/// protected. The oldest are removed first.
struct RetentionPlan {
  var rule: RecordingSettings.Retention
  /// The recorder whose files are removed.
  var owner: RecordingIdentity
  /// Files that are kept whatever the rule says.
  var protected: Set<FileID> = []
  /// Time of day in nanoseconds since 1970; nil while the clock is not synchronized: then no age is known.
  var now: Int64?
  /// Time of the kernel's clock, by which file systems record changes, in nanoseconds since 1970. Files that another process
  /// finished in the minute before it are kept; nil keeps none of them.
  var fileSystemTime: Int64?
  /// Whether this process has finished a file; such files are kept only when they are protected.
  var isFinishedHere: (RecordedFile) -> Bool = { _ in false }
  /// Bytes to free on the disk in addition to the rule.
  var missingByteCount = 0

  /// Returns the files to remove, oldest first.
  ///
  /// - Parameter files: All files of the recorder's pattern, oldest first.
  func removals(from files: [RecordedFile]) -> [RecordedFile] {
    let own = files.filter { $0.identity == self.owner }
    var byteCount = own.reduce(0) { $0 + $1.byteCount }
    var freed = 0
    return own.filter { file in
      guard file.isFinished, file.id.map({ !self.protected.contains($0) }) ?? true, !self.isJustFinishedElsewhere(file)
      else { return false }
      let isExcess = self.rule.byteCount.map { byteCount > $0 } ?? false
      guard isExcess || freed < self.missingByteCount || self.isOld(file) else { return false }
      byteCount -= file.byteCount
      freed += file.byteCount
      return true
    }
  }

  /// Time for which a file that another process has finished is kept, in nanoseconds.
  static let handoverTime: Int64 = 60_000_000_000

  /// Whether another process of the recorder has finished the file within ``handoverTime``: its own rule would keep the file.
  private func isJustFinishedElsewhere(_ file: RecordedFile) -> Bool {
    guard let fileSystemTime, file.id != nil, !self.isFinishedHere(file) else { return false }
    // Programs set the modification time, which makes the change time recent.
    return [file.changeTime, file.modificationTime].allSatisfy { time in
      let (age, isOverflow) = fileSystemTime.subtractingReportingOverflow(time)
      return !isOverflow && age.magnitude < Self.handoverTime.magnitude
    }
  }

  /// A file that was created before the clock was synchronized may have a time of any year.
  private func isOld(_ file: RecordedFile) -> Bool {
    guard let now, file.isClockSynchronized else { return false }
    return self.rule.isOld(modificationTime: file.modificationTime, now: now)
  }
}

extension RecordingSettings.Retention {
  /// Whether files are removed at all.
  var isSet: Bool { self.age != nil || self.byteCount != nil }

  /// Whether a file is older than ``age``.
  ///
  /// - Parameters:
  ///   - modificationTime: In nanoseconds since 1970.
  ///   - now: In nanoseconds since 1970, not negative.
  func isOld(modificationTime: Int64, now: Int64) -> Bool {
    guard let age = self.age else { return false }
    // The difference to a time of 1677 is more than 64 bits hold.
    let (difference, isOverflow) = now.subtractingReportingOverflow(modificationTime)
    return isOverflow || difference > age.nanoseconds
  }
}

extension RecordedFile {
  /// Removes the file, unless its name belongs to another file by now.
  func remove() -> Bool {
    var status = stat()
    guard let id, lstat(self.path, &status) == 0, FileID(status) == id else { return false }
    return unlink(self.path) == 0
  }
}
