/// Replays a journal, and computes what a disk contains after an interruption at any call.
///
/// A file's content survives a power loss as it was when it was synchronized; of what was changed since, any part may
/// survive. A name survives when its folder was synchronized after the change; before that it may.
public struct DiskReplay {
  /// The files of a disk, by path.
  public typealias Image = [String: [UInt8]]

  private struct File {
    var synced: [UInt8] = []
    /// Content as the program sees it.
    var cached: [UInt8] = []
    /// Changes since the last synchronization.
    var pending: [Change] = []
  }

  private enum Change {
    case write(Int, [UInt8])
    case truncate(Int)
  }

  private enum NameChange {
    case add(String, Int)
    case remove(String)
    case rename(String, String)
  }

  private var files: [File] = []
  /// Index of the file that an inode has now.
  private var inodes: [UInt64: Int] = [:]
  private var names: [String: Int] = [:]
  private var syncedNames: [String: Int] = [:]
  private var pendingNames: [NameChange] = []
  /// Folders that are there after a power loss; empty where all are.
  private var unsyncedFolders: Set<String> = []

  /// Bytes that a disk writes at once.
  private static let pageLength = 4096

  /// Creates an empty disk.
  public init() {}

  /// Adds a file that was there, and synchronized, before the journal begins.
  public mutating func add(_ path: String, inode: UInt64, content: [UInt8]) {
    self.files.append(File(synced: content, cached: content))
    self.inodes[inode] = self.files.count - 1
    (self.names[path], self.syncedNames[path]) = (self.files.count - 1, self.files.count - 1)
  }

  /// Performs a call; failed calls change nothing.
  public mutating func perform(_ call: DiskCall) {
    guard call.error == 0 else { return }
    switch call.kind {
    case .create:
      self.files.append(File())
      self.inodes[call.inode] = self.files.count - 1
      self.change(.add(call.path, self.files.count - 1))
    case .write: self.change(call.inode, .write(call.offset, call.data))
    case .truncate: self.change(call.inode, .truncate(call.offset))
    case .synchronize:
      guard let index = self.inodes[call.inode] else { return }
      self.files[index].synced = self.files[index].cached
      self.files[index].pending = []
    case .synchronizeFolder: self.synchronize(folder: call.path)
    case .rename: self.change(.rename(call.path, call.otherPath))
    case .link: if let index = self.names[call.path] { self.change(.add(call.otherPath, index)) }
    case .unlink: self.change(.remove(call.path))
    case .makeFolder: self.unsyncedFolders.insert(call.path)
    case .read, .open: break
    }
  }

  private mutating func change(_ inode: UInt64, _ change: Change) {
    // Files that were there before the journal began are replayed only after ``add(_:inode:content:)``.
    guard let index = self.inodes[inode] else { return }
    Self.apply(change, to: &self.files[index].cached)
    self.files[index].pending.append(change)
  }

  private mutating func change(_ change: NameChange) {
    Self.apply(change, to: &self.names)
    self.pendingNames.append(change)
  }

  private mutating func synchronize(folder: String) {
    // Changes in other folders stay pending; a rename belongs to the folder of both names.
    self.pendingNames = self.pendingNames.filter { change in
      let path =
        switch change {
        case .add(let path, _), .remove(let path), .rename(_, let path): path
        }
      guard Self.folder(of: path) == folder else { return true }
      Self.apply(change, to: &self.syncedNames)
      return false
    }
    self.unsyncedFolders = self.unsyncedFolders.filter { Self.folder(of: $0) != folder }
  }

  private static func folder(of path: String) -> String {
    String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
  }

  private static func apply(_ change: Change, to content: inout [UInt8]) {
    switch change {
    case .truncate(let length):
      content = Array(content.prefix(length)) + [UInt8](repeating: 0, count: max(0, length - content.count))
    case .write(let offset, let data):
      if offset + data.count > content.count {
        content += [UInt8](repeating: 0, count: offset + data.count - content.count)
      }
      content.replaceSubrange(offset..<offset + data.count, with: data)
    }
  }

  private static func apply(_ change: NameChange, to names: inout [String: Int]) {
    switch change {
    case .add(let path, let index): names[path] = index
    case .remove(let path): names[path] = nil
    case .rename(let from, let to):
      names[to] = names[from] ?? names[to]
      names[from] = nil
    }
  }
}

// MARK: - Interruptions
extension DiskReplay {
  /// The disk as programs see it, as after a `SIGKILL`.
  public var cachedImage: Image { self.image(self.names) { $0.cached } }

  /// The disk after a power loss of which nothing that was not synchronized survives.
  public var syncedImage: Image { self.image(self.reachable(self.syncedNames)) { $0.synced } }

  /// Contents that a `SIGKILL` in the next call can leave: each page of a write may be its last.
  public func killedImages(in next: DiskCall) -> [Image] {
    guard next.kind == .write, next.error == 0 else { return [self.cachedImage] }
    return Self.cuts(of: next.data).map { count in
      var replay = self
      var call = next
      call.data = Array(next.data.prefix(count))
      replay.perform(call)
      return replay.cachedImage
    }
  }

  /// Contents that a power loss can leave. Besides the best and the worst outcome, each number of pages of the last change, from
  /// its start or to its end; its length without content; and each number of name changes.
  public var lostPowerImages: [Image] {
    var images = [self.syncedImage]
    var names = self.syncedNames
    for change in self.pendingNames {
      Self.apply(change, to: &names)
      images.append(self.image(self.reachable(names)) { $0.synced })
    }
    guard self.files.contains(where: { !$0.pending.isEmpty }) else { return images }
    images.append(self.image(self.reachable(self.syncedNames)) { $0.cached })
    images.append(self.image(self.reachable(names)) { $0.cached })
    for index in self.files.indices {
      guard case .write(let offset, let data)? = self.files[index].pending.last else { continue }
      for count in Self.cuts(of: data) {
        for part in [0..<count, count..<data.count] where !part.isEmpty {
          var content = self.files[index].synced
          for change in self.files[index].pending.dropLast() { Self.apply(change, to: &content) }
          let zeros = [UInt8](repeating: 0, count: max(0, offset + part.upperBound - content.count))
          content += zeros
          content.replaceSubrange(offset + part.lowerBound..<offset + part.upperBound, with: data[part])
          images.append(self.image(self.reachable(names)) { $0.synced }.merging(self.paths(of: index, content)) { $1 })
        }
      }
      // The file has its new length, and no content there.
      var content = self.files[index].cached
      let synced = self.files[index].synced.count
      guard offset + data.count > synced else { continue }
      for position in max(offset, synced)..<offset + data.count { content[position] = 0 }
      images.append(self.image(self.reachable(names)) { $0.synced }.merging(self.paths(of: index, content)) { $1 })
    }
    return images
  }

  private static func cuts(of data: [UInt8]) -> [Int] {
    Array(stride(from: 0, to: data.count, by: self.pageLength)) + [data.count / 2, data.count]
  }

  private func paths(of index: Int, _ content: [UInt8]) -> Image {
    self.reachable(self.names).filter { $0.value == index }.mapValues { _ in content }
  }

  private func image(_ names: [String: Int], _ content: (File) -> [UInt8]) -> Image {
    names.mapValues { content(self.files[$0]) }
  }

  /// Names whose folders survive.
  private func reachable(_ names: [String: Int]) -> [String: Int] {
    guard !self.unsyncedFolders.isEmpty else { return names }
    return names.filter { name, _ in !self.unsyncedFolders.contains { name.hasPrefix($0 + "/") } }
  }
}
