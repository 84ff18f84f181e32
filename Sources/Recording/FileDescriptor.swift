internal import Libc
internal import Media
internal import NIOCore

/// An open file or folder, closed with the last reference.
final class FileDescriptor: Sendable {
  let number: Int32
  /// The path that errors name.
  let path: String

  /// Opens a file or folder, or creates a file.
  ///
  /// - Parameters:
  ///   - flags: The flags of `open(2)`; `O_CLOEXEC` is added.
  ///   - mode: Permission bits of a created file, before the umask.
  ///   - folder: The folder that a relative path starts at; nil for the working directory.
  ///   - subject: The path in errors; nil for the folder's path and `path`.
  init(
    _ path: String, _ flags: Int32, mode: mode_t = 0o640, in folder: FileDescriptor? = nil, subject: String? = nil
  ) throws(VidiconError) {
    let shown = subject ?? folder.map { $0.path == "." ? path : "\($0.path)/\(path)" } ?? path
    let number = openat(folder?.number ?? AT_FDCWD, path, flags | O_CLOEXEC, mode)
    guard number >= 0 else { throw VidiconError(errno: errno, path: shown, isNewName: flags & O_CREAT != 0) }
    self.number = number
    self.path = shown
  }

  deinit {
    // A child process that is just being started has a copy of the descriptor until it executes its program, and would keep
    // the lock until then.
    flock(self.number, LOCK_UN)
    close(self.number)
  }

  /// Outcome of an attempt to lock a file.
  enum Lock: Equatable {
    case acquired
    /// Another open file has it.
    case taken
    /// The file system has no locks, or an error occurred: it is not known whether the file is in use.
    case unknown
  }

  /// Acquires the exclusive lock (`flock`) of a file without waiting; the lock is released with the last reference, or
  /// when the process ends.
  func lock() -> Lock {
    while flock(self.number, LOCK_EX | LOCK_NB) != 0 {
      if errno != EINTR { return errno == EWOULDBLOCK ? .taken : .unknown }
    }
    return .acquired
  }

  /// Whether this descriptor may write.
  var isWritable: Bool { fcntl(self.number, F_GETFL) & O_ACCMODE == O_RDWR }

  /// File size, type and times, as `fstat(2)` returns them.
  func status() throws(VidiconError) -> stat {
    var status = stat()
    guard fstat(self.number, &status) == 0 else { throw VidiconError(errno: errno, path: self.path) }
    return status
  }

  /// Writes all bytes at an offset; retries partial writes.
  ///
  /// - Throws: ``VidiconError``, also where the file may not become so large.
  func write(_ bytes: ByteBuffer, at offset: UInt64) throws(VidiconError) {
    guard try self.writeWithinLimit(bytes, at: offset) == bytes.readableBytes else {
      throw VidiconError(errno: EFBIG, path: self.path)
    }
  }

  /// Writes bytes at an offset, up to the size that the process or the file system allows (`EFBIG`); retries partial writes.
  ///
  /// - Returns: Number of bytes written; fewer than those of the buffer where the file has its maximum size.
  func writeWithinLimit(_ bytes: ByteBuffer, at offset: UInt64) throws(VidiconError) -> Int {
    try bytes.withUnsafeReadableBytes { (bytes) throws(VidiconError) in
      var written = 0
      while written < bytes.count {
        let result = pwrite(
          self.number, bytes.baseAddress! + written, bytes.count - written, off_t(offset) + off_t(written))
        if result < 0, errno == EINTR { continue }
        if result < 0, errno == EFBIG { break }
        guard result > 0 else { throw VidiconError(errno: result == 0 ? ENOSPC : errno, path: self.path) }
        written += result
      }
      return written
    }
  }

  /// Maximum number of attempts to read after an error: a controller or a network may fail once.
  private static let maximumAttempts = 3

  /// Reads up to `count` bytes at an offset: fewer at the end of the file; nil on repeated read errors.
  func read(at offset: UInt64, count: Int) -> ByteBuffer? {
    guard let offset = off_t(exactly: offset) else { return nil }
    var buffer = ByteBufferAllocator().buffer(capacity: count)
    var failures = 0
    while buffer.readableBytes < count {
      let done = buffer.readableBytes
      var result = 0
      buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count - done) { space in
        result = pread(self.number, space.baseAddress, count - done, offset + off_t(done))
        return max(0, result)
      }
      if result < 0, errno != EINTR {
        failures += 1
        guard failures < Self.maximumAttempts else { return nil }
      }
      if result == 0 { break }
    }
    return buffer
  }

  /// Errors of file systems that cannot synchronize.
  private static let unsupported: Set<Int32> = [EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP]

  /// Blocks until the content, and the metadata needed to read it, are on disk (`fdatasync`). File systems without support
  /// count as synchronized.
  func synchronizeData() throws(VidiconError) {
    #if canImport(Darwin)
    // FAT and network disks have fsync(2) only.
    let result = fcntl(self.number, F_FULLFSYNC) == 0 ? 0 : fsync(self.number)
    #else
    let result = fdatasync(self.number)
    #endif
    guard result == 0 || Self.unsupported.contains(errno) else { throw VidiconError(errno: errno, path: self.path) }
  }

  /// Blocks until content and metadata are on disk (`fsync`); for a folder, its directory entries. File systems
  /// without support count as synchronized; some have it for files only, and refuse it for the descriptors of folders.
  func synchronize() throws(VidiconError) {
    guard fsync(self.number) != 0 else { return }
    let failure = errno
    if Self.unsupported.contains(failure) { return }
    if [EBADF, EACCES].contains(failure), let status = try? self.status(), status.st_mode & S_IFMT == S_IFDIR {
      return
    }
    throw VidiconError(errno: failure, path: self.path)
  }

  /// Whether a directory entry still refers to this file.
  func hasName(_ name: String, in folder: FileDescriptor) -> Bool {
    var (mine, there) = (stat(), stat())
    return fstat(self.number, &mine) == 0 && fstatat(folder.number, name, &there, AT_SYMLINK_NOFOLLOW) == 0
      && mine.st_ino == there.st_ino && mine.st_dev == there.st_dev
  }
}
