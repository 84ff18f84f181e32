internal import CSystemCalls
internal import Libc

/// Gives a file a name that no other file has, on every file system.
///
/// | call | missing on |
/// |------|------------|
/// | link(2) | FAT, exFAT, many SMB and FUSE file systems: `EPERM`, `EOPNOTSUPP`, `ENOSYS`, `EMLINK` |
/// | renameat2(2) with `RENAME_NOREPLACE` | NFS, 9P, many FUSE file systems: `EINVAL`; kernels before 3.15: `ENOSYS` |
/// | open(2) with `O_EXCL`, then rename(2) over the new file | none |
///
/// The first call that works is used. The last pair is two steps: other programs may see an empty file of the new name for a
/// moment, and a crash between them leaves it; the file keeps its old name then.
package enum ExclusiveName {
  /// Result of the calls.
  package enum Outcome: Equatable, Sendable {
    /// The file has both names.
    case linked
    /// The file has the new name only.
    case renamed
    /// Another file has the name; nothing was changed.
    case taken
    /// Every call failed, the last with this value of `errno`; the file has its old name.
    case failed(Int32)
  }

  /// Errors after which the other calls would fail too.
  private static let failures: Set<Int32> = [ENOENT, ENOTDIR, ENAMETOOLONG, EIO, EROFS, ESTALE]

  /// Gives a file of a folder a new name in it.
  ///
  /// - Parameter folder: Descriptor of the folder that both names start at.
  package static func give(_ newName: String, to name: String, in folder: Int32 = AT_FDCWD) -> Outcome {
    if linkat(folder, name, folder, newName, 0) == 0 { return .linked }
    if let outcome = Self.outcome(errno) { return outcome }
    if vidicon_rename_exclusively(folder, name, newName) == 0 { return .renamed }
    if let outcome = Self.outcome(errno) { return outcome }
    let file = openat(folder, newName, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { return errno == EEXIST ? .taken : .failed(errno) }
    close(file)
    guard renameat(folder, name, folder, newName) == 0 else {
      let failure = errno
      unlinkat(folder, newName, 0)
      return .failed(failure)
    }
    return .renamed
  }

  /// The outcome after an error; nil where the next call may succeed.
  private static func outcome(_ error: Int32) -> Outcome? {
    if error == EEXIST { return .taken }
    return Self.failures.contains(error) ? .failed(error) : nil
  }
}
