package import Libc

/// Identity and times of a version of a file. Programs can set the time of the last change of its content back, but not that of its
/// last change of any kind.
package struct FileVersion: Hashable, Sendable {
  private var device: UInt64
  private var inode: UInt64
  private var size: Int64
  private var content: [Int]
  private var change: [Int]

  /// The version of a file whose status the system has returned.
  package init(_ status: stat) {
    self.device = UInt64(truncatingIfNeeded: status.st_dev)
    self.inode = UInt64(status.st_ino)
    self.size = Int64(status.st_size)
    #if canImport(Darwin)
    let (content, change) = (status.st_mtimespec, status.st_ctimespec)
    #else
    let (content, change) = (status.st_mtim, status.st_ctim)
    #endif
    self.content = [Int(content.tv_sec), Int(content.tv_nsec)]
    self.change = [Int(change.tv_sec), Int(change.tv_nsec)]
  }

  /// The version of the file that a path leads to, through links; nil without one.
  init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }
}
