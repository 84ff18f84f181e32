#if canImport(Darwin)
internal import Libc

/// Folder watch by kqueue(2), which says that a folder has changed, but not which entry. Used by one thread at a time.
final class KqueueWatch: FolderWatch {
  private let queue: Int32
  private var folders: [Int32] = []

  /// Creates a watch; nil when the process has no descriptor left.
  init?() {
    self.queue = kqueue()
    if self.queue < 0 { return nil }
  }

  deinit {
    for folder in self.folders { close(folder) }
    close(self.queue)
  }

  func add(_ folder: String) -> Bool {
    let descriptor = open(folder, O_EVTONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    var change = kevent(
      ident: UInt(descriptor), filter: Int16(EVFILT_VNODE), flags: UInt16(EV_ADD | EV_CLEAR),
      fflags: UInt32(NOTE_WRITE | NOTE_DELETE | NOTE_RENAME | NOTE_REVOKE), data: 0, udata: nil)
    guard kevent(self.queue, &change, 1, nil, 0, nil) == 0 else {
      close(descriptor)
      return false
    }
    self.folders.append(descriptor)
    return true
  }

  func changes() -> FolderChanges {
    var isChanged = false
    var event = kevent()
    var noWait = timespec()
    while kevent(self.queue, nil, 0, &event, 1, &noWait) > 0 { isChanged = true }
    return isChanged ? .unknown : .entries([])
  }
}
#endif
