internal import Synchronization

/// The files that this process has finished last. Retention distinguishes them from files that another process of the same
/// recorder has finished.
final class FinishedFiles: Sendable {
  /// A file, by its inode and the time of its last change: the system gives the inode of a removed file to a new one.
  private struct Entry: Hashable {
    let id: FileID
    let changeTime: Int64
  }

  /// The files of this process.
  static let ofProcess = FinishedFiles()

  /// Maximum number of files; further ones replace the oldest. Retention asks about those of the last minute only.
  private static let limit = 4096

  private let files = Mutex<(entries: Set<Entry>, order: [Entry])>(([], []))

  /// Adds a file; one without an inode is ignored.
  func insert(_ file: RecordedFile) {
    guard let id = file.id else { return }
    let entry = Entry(id: id, changeTime: file.changeTime)
    self.files.withLock { files in
      guard files.entries.insert(entry).inserted else { return }
      files.order.append(entry)
      if files.order.count > Self.limit { files.entries.remove(files.order.removeFirst()) }
    }
  }

  /// Whether this process has finished the file, and nothing has changed it since.
  func contains(_ file: RecordedFile) -> Bool {
    guard let id = file.id else { return false }
    return self.files.withLock { $0.entries.contains(Entry(id: id, changeTime: file.changeTime)) }
  }
}
