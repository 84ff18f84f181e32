/// Reports changes of folders' entries, without waiting: the system collects changes until they are read.
protocol FolderWatch: AnyObject {
  /// Adds a folder, whose later changes are reported.
  ///
  /// - Returns: False when the system cannot watch it: too many watches, or a file system without support.
  func add(_ folder: String) -> Bool

  /// Returns what has changed since the last call, or since the folders were added.
  func changes() -> FolderChanges
}

/// Changes of watched folders.
enum FolderChanges: Equatable {
  /// Paths of files and folders that were created, removed, renamed, or closed after writing.
  case entries(Set<String>)
  /// Too many changes, or the system does not say which entry: the folders have to be listed again.
  case unknown
}

/// Creates the watch of the platform; nil when the system has none left.
func makeFolderWatch() -> (any FolderWatch)? {
  #if canImport(Darwin)
  KqueueWatch()
  #else
  InotifyWatch()
  #endif
}
