internal import Libc
internal import Media
internal import Synchronization

/// The files of a recorder, kept in memory, so that a request neither lists folders nor opens other files.
///
/// A single file is looked up by its name and compared with the disk by one `lstat`; its head is read when it is new
/// or has changed. The list is updated by what the recorder reports and by a ``FolderWatch``, when it is asked for.
/// Without a watch, folders are listed again for each list; only heads of new and changed files are read then too.
///
/// Never blocks the recorder: reading the disk holds no lock that ``note(_:)`` needs.
final class RecordingCatalog: Sendable {
  private struct State {
    var files: [String: RecordedFile] = [:]
    /// The files of ``files``, oldest first; nil when they have changed.
    var sorted: [RecordedFile]?
  }

  /// State of the updates, of which one runs at a time.
  private struct Updates: ~Copyable {
    /// Nil before the first list, and after changes that it did not describe.
    var watch: (any FolderWatch)?
    /// Unfinished files, whose writes are not reported.
    var unfinished: Set<String> = []
  }

  private let pattern: FilePattern
  private let owner: RecordingIdentity
  private let makeWatch: @Sendable () -> (any FolderWatch)?
  private let state = Mutex(State())
  private let updates = Mutex(Updates())
  /// Paths that the recorder has reported since the last update.
  private let noted = Mutex<Set<String>>([])

  /// - Parameters:
  ///   - owner: The recorder: files of others are left out, but not those of earlier versions, which name none.
  ///   - makeWatch: Creates a watch; nil when there is none.
  init(
    _ pattern: FilePattern, of owner: RecordingIdentity,
    makeWatch: @escaping @Sendable () -> (any FolderWatch)? = makeFolderWatch
  ) {
    self.pattern = pattern
    self.owner = owner
    self.makeWatch = makeWatch
  }

  /// Records that a file was created, finished or removed. Does not read the disk.
  func note(_ path: String) {
    self.noted.withLock { _ = $0.insert(path) }
  }

  /// Lists the files, oldest first. Reads what has changed on the disk.
  func files() -> [RecordedFile] {
    self.updates.withLock { self.update(&$0) }
    return self.state.withLock { state in
      if let sorted = state.sorted { return sorted }
      let sorted = RecordedFile.sorted(state.files.values)
      state.sorted = sorted
      return sorted
    }
  }

  /// Finds a file.
  ///
  /// - Parameter name: Path relative to the pattern's folder; only names of the pattern are looked up.
  func file(named name: String) -> RecordedFile? {
    let path = Folder.path(name, in: self.pattern.folder)
    guard self.pattern.kind(ofPath: path) == .file else { return nil }
    return self.refresh(path)
  }

  /// Compares an entry with the disk.
  @discardableResult
  private func refresh(_ path: String) -> RecordedFile? {
    let known = self.state.withLock { $0.files[path] }
    var status = stat()
    let file: RecordedFile?
    if lstat(path, &status) != 0 {
      file = nil
    } else if let known, known.id == FileID(status), known.byteCount == Int(clamping: status.st_size),
      known.modificationTime == status.modificationTime
    {
      return known
    } else {
      let read = RecordedFile(path, name: self.pattern.name(ofFile: path))
      file = read.flatMap { $0.identity == nil || $0.identity == self.owner ? $0 : nil }
    }
    if known == nil, file == nil { return nil }
    self.state.withLock { state in
      state.files[path] = file
      state.sorted = nil
    }
    return file
  }

  private func update(_ updates: inout Updates) {
    let noted = self.noted.withLock { paths in
      defer { paths = [] }
      return paths
    }
    let changes = updates.watch?.changes() ?? .unknown
    // A folder that appears or disappears may contain any number of files.
    if case .entries(let paths) = changes, !paths.contains(where: { self.pattern.kind(ofPath: $0) == .folder }) {
      for path in paths.union(noted).union(updates.unfinished) where self.pattern.kind(ofPath: path) == .file {
        self.track(self.refresh(path), path, &updates)
      }
    } else {
      self.listFolders(&updates)
    }
  }

  private func track(_ file: RecordedFile?, _ path: String, _ updates: inout Updates) {
    if file?.isFinished == false { updates.unfinished.insert(path) } else { updates.unfinished.remove(path) }
  }

  /// Lists all folders, and watches them from before that on.
  private func listFolders(_ updates: inout Updates) {
    let watch = self.makeWatch()
    var isWatched = watch != nil
    var paths: Set<String> = []
    updates.unfinished = []
    self.pattern.forEach(
      willList: { folder in isWatched = watch?.add(folder) == true && isWatched },
      file: { path in
        paths.insert(path)
        self.track(self.refresh(path), path, &updates)
      })
    updates.watch = isWatched ? watch : nil
    self.state.withLock { state in
      guard state.files.contains(where: { !paths.contains($0.key) }) else { return }
      state.files = state.files.filter { paths.contains($0.key) }
      state.sorted = nil
    }
  }
}
