internal import Libc

/// Free space of the disk of a folder, for this user.
package struct DiskSpace: Equatable, Sendable {
  /// Bytes that this user may still write.
  package var free: UInt64
  /// Size of the disk in bytes.
  package var total: UInt64

  /// Default of ``RecordingSettings/minimumFreeByteCount``: 1 GB, or 5 % of a disk below 20 GB.
  package var defaultMinimum: UInt64 { min(1_000_000_000, self.total / 20) }

  /// Creates a space; both in bytes.
  package init(free: UInt64, total: UInt64) {
    (self.free, self.total) = (free, total)
  }

  /// Reads the free space of the disk of a folder; nil where the folder cannot be opened.
  package init?(ofFolder path: String) {
    guard let folder = try? FileDescriptor(path, O_RDONLY | O_DIRECTORY) else { return nil }
    self.init(of: folder)
  }

  /// Reads the free space; nil where the file system does not report it.
  init?(of folder: FileDescriptor) {
    var system = statvfs()
    guard fstatvfs(folder.number, &system) == 0, system.f_blocks > 0 else { return nil }
    func bytes(_ blocks: UInt) -> UInt64 {
      let (bytes, isOverflow) = UInt64(blocks).multipliedReportingOverflow(by: UInt64(system.f_frsize))
      return isOverflow ? .max : bytes
    }
    self.init(free: bytes(UInt(system.f_bavail)), total: bytes(UInt(system.f_blocks)))
  }

  /// Bytes that are missing to write `byteCount` bytes and leave `minimum`; 0 when there is room.
  ///
  /// - Parameter minimum: Nil for the default.
  package func missing(for byteCount: Int, leaving minimum: Int?) -> Int {
    let needed = UInt64(clamping: byteCount) + (minimum.map { UInt64(clamping: $0) } ?? self.defaultMinimum)
    return needed > self.free ? Int(clamping: needed - self.free) : 0
  }
}
