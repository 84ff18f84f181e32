#if os(Linux)
internal import Libc

/// Folder watch by inotify(7). Used by one thread at a time.
final class InotifyWatch: FolderWatch {
  private let descriptor: Int32
  private var folders: [Int32: String] = [:]
  /// Changes that matter: files that are being written are not reported with each write.
  private static let mask = UInt32(
    IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
  /// Events that make the watched folders themselves uncertain.
  private static let lost = UInt32(IN_Q_OVERFLOW | IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)
  /// Bytes read at once: 16 for an event, and up to 256 for its name.
  private static let bufferLength = 64 << 10

  /// Creates a watch; nil when this user has no inotify instance left.
  init?() {
    self.descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    if self.descriptor < 0 { return nil }
  }

  deinit {
    close(self.descriptor)
  }

  func add(_ folder: String) -> Bool {
    let number = inotify_add_watch(self.descriptor, folder, Self.mask)
    guard number >= 0 else { return false }
    self.folders[number] = folder
    return true
  }

  func changes() -> FolderChanges {
    var paths: Set<String> = []
    var isUnknown = false
    var buffer = [UInt8](repeating: 0, count: Self.bufferLength)
    while true {
      let count = read(self.descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return isUnknown ? .unknown : .entries(paths) }
      buffer.withUnsafeBytes { bytes in
        var offset = 0
        // struct inotify_event: wd, mask, cookie, len, name.
        while offset + 16 <= count {
          let number = bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)
          let mask = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
          let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
          let name = bytes[offset + 16..<min(offset + 16 + length, count)].prefix { $0 != 0 }
          offset += 16 + length
          if mask & Self.lost != 0 { isUnknown = true }
          guard let folder = self.folders[number], !name.isEmpty else { continue }
          let entry = String(decoding: name, as: UTF8.self)
          paths.insert(Folder.path(entry, in: folder))
        }
      }
    }
  }
}
#endif
