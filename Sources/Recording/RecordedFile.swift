internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// File that this program has recorded, or is recording.
public struct RecordedFile: Hashable, Sendable {
  /// Path of the file.
  public var path: String
  /// Path relative to ``FilePattern/folder``, used in URLs.
  public var name: String
  /// Current size, in bytes.
  public var byteCount: Int
  /// Time of the last write, in nanoseconds since 1970-01-01 00:00 UTC.
  public var modificationTime: Int64
  /// Whether the file is finished; otherwise it is being recorded, being finished, or was left by a crash.
  public var isFinished: Bool

  /// Lists the files that match a pattern, oldest first.
  static func list(matching pattern: FilePattern) -> [RecordedFile] {
    var files: [RecordedFile] = []
    pattern.forEach { path in
      guard let file = try? FileDescriptor(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW), let status = try? file.status(),
        status.st_mode & S_IFMT == S_IFREG, let mark = RecordingMarker(of: file)
      else { return }
      files.append(
        RecordedFile(
          path: path, name: pattern.name(ofFile: path), byteCount: Int(clamping: status.st_size),
          modificationTime: status.modificationTime,
          isFinished: mark == .finished))
    }
    return files.sorted { ($0.modificationTime, $0.path) < ($1.modificationTime, $1.path) }
  }

  /// Removes finished files that exceed a retention rule.
  ///
  /// - Parameter now: Time of day, in nanoseconds since 1970.
  /// - Returns: Paths of the removed files.
  static func remove(
    _ pattern: FilePattern, rule: RecordingSettings.Retention, now: Int64
  ) -> [String] {
    guard rule.age != nil || rule.byteCount != nil else { return [] }
    let files = Self.list(matching: pattern)
    var byteCount = files.reduce(0) { $0 + $1.byteCount }
    var removed: [String] = []
    for file in files where file.isFinished {
      let isOld = rule.isOld(modificationTime: file.modificationTime, now: now)
      guard isOld || rule.byteCount.map({ byteCount > $0 }) ?? false else { continue }
      guard unlink(file.path) == 0 else { continue }
      byteCount -= file.byteCount
      removed.append(file.path)
    }
    return removed
  }
}

extension RecordingSettings.Retention {
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
