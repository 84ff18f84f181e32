internal import Libc
internal import Media

/// Judges whether an unfinished recording is being written, on file systems without locks: NFS without a lock service, 9P,
/// some SMB and FUSE file systems.
///
/// A recorder writes about once per second, unless it is paused. Times are those of the file system, whose clock may be that of
/// another machine: a new file has its current time.
enum FileActivity {
  /// Time without a write after which a file is at rest.
  static let restTime = MediaDuration.seconds(60)
  /// Time for which a file is watched that was written more recently: several fragments of a recorder.
  private static let watchTime = MediaDuration.seconds(5)
  /// Time between two looks.
  private static let lookInterval = MediaDuration.milliseconds(250)

  /// Whether a file was not written for ``restTime``; false where that is not known.
  ///
  /// - Parameter folder: The folder of the file, in which a temporary file is created.
  static func isAtRest(_ file: FileDescriptor, in folder: FileDescriptor) -> Bool {
    guard let status = try? file.status(), let (probe, name) = try? TemporaryFile.make(in: folder, subject: file.path)
    else { return false }
    defer { unlinkat(folder.number, name, 0) }
    guard let now = try? probe.status().modificationTime else { return false }
    return self.isAtRest(modificationTime: status.modificationTime, now: now)
  }

  /// - Parameters:
  ///   - modificationTime: Time of the last write, in nanoseconds since 1970; may be in the future, after the clock was set back.
  ///   - now: By the same clock.
  static func isAtRest(modificationTime: Int64, now: Int64) -> Bool {
    let (age, isOverflow) = now.subtractingReportingOverflow(modificationTime)
    return isOverflow || age.magnitude >= self.restTime.nanoseconds.magnitude
  }

  /// Watches a file for some seconds; blocks.
  ///
  /// - Returns: Whether it was written meanwhile, or cannot be watched.
  static func isWritten(_ file: FileDescriptor) -> Bool {
    guard let before = try? file.status() else { return true }
    for _ in 0..<self.watchTime.nanoseconds / self.lookInterval.nanoseconds {
      usleep(UInt32(self.lookInterval.nanoseconds / 1000))
      guard let status = try? file.status(), status.st_size == before.st_size,
        status.modificationTime == before.modificationTime
      else { return true }
    }
    return false
  }
}
