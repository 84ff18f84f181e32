internal import Libc
internal import Media

/// Sequence numbers of the files of a recorder, ascending in the order of their creation whatever the clock does.
///
/// A number is the time of day at which the file was created, in nanoseconds since 1970, or one more than the last number where
/// the clock was set back since (a hybrid logical clock). Lists and retention order files by these numbers: on a machine
/// without a battery for its clock, what is recorded before the clock is set would count as older than all else.
struct RecordingSequence {
  /// The last number.
  private var last: UInt64

  /// Number of files that are opened at each of two times to find the last number.
  private static let openedFileCount = 8
  /// Maximum number that is continued: the year 2262. Greater ones are in damaged files only.
  private static let maximum = UInt64(Int64.max)

  init(after last: UInt64) {
    self.last = min(last, Self.maximum)
  }

  /// Continues the numbers of a recorder's files on disk.
  ///
  /// Folders are listed, but only those files are opened that may have the last number: the newest of all, which are in the
  /// future where the clock was set back, and the newest that are not.
  ///
  /// - Parameter now: The time of day in nanoseconds since 1970.
  init(of recorder: RecordingIdentity, in pattern: FilePattern, now: Int64) {
    var files: [(time: Int64, path: String)] = []
    pattern.forEach { path in
      var status = stat()
      if lstat(path, &status) == 0 { files.append((status.modificationTime, path)) }
    }
    files.sort { $0.time > $1.time }
    let opened = files.prefix(Self.openedFileCount) + files.filter { $0.time <= now }.prefix(Self.openedFileCount)
    self.init(
      after: opened.reduce(0) { last, file in
        guard let found = RecordedFile(file.path, name: ""), found.identity == recorder else { return last }
        let number = found.sequenceNumber ?? UInt64(clamping: found.modificationTime)
        return number > Self.maximum ? last : max(last, number)
      })
  }

  /// Minimum of the next number.
  var upcoming: UInt64 { self.last + 1 }

  /// Returns the number of a file.
  ///
  /// - Parameter time: The time of day in nanoseconds since 1970.
  mutating func next(at time: Int64) -> UInt64 {
    self.last = min(max(UInt64(clamping: time), self.upcoming), Self.maximum)
    return self.last
  }
}
