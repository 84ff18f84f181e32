import CaptureDevices
import Foundation
import Libc
import Media
import Recording

extension RecordingFacts {
  /// Looks at the folders of a configuration; reads the heads of the files that are there.
  ///
  /// - Parameters:
  ///   - serviceFolder: Folder of the service that records; nil for this user.
  ///   - isInService: Whether this process is the service.
  ///   - folder: Folder of other relative paths, for commands that are typed in another one; nil where they are typed in this one.
  init(
    _ configuration: ServeConfiguration, of serviceFolder: String? = nil, isInService: Bool = false,
    in folder: String? = nil
  ) {
    self.init(
      targets: configuration.streams.compactMap {
        Target($0, of: serviceFolder, isInService: isInService, in: folder)
      })
  }

  /// Looks at the folders of a configuration for the program that records to them, which may run in a unit of systemd.
  ///
  /// - Parameter environment: Variables of the program; systemd names the folders of `StateDirectory=` in `STATE_DIRECTORY`.
  init(served configuration: ServeConfiguration, environment: [String: String] = ProcessInfo.processInfo.environment) {
    let folder = environment["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
    self.init(
      configuration, of: folder, isInService: folder != nil, in: FileManager.default.currentDirectoryPath)
  }
}

extension RecordingFacts.Target {
  /// The folder of a stream's recordings; nil for a stream without, and for a pattern that cannot be parsed.
  ///
  /// - Parameters:
  ///   - serviceFolder: Folder of the service that records, in which relative paths are; nil for this user.
  ///   - isInService: Whether this process is the service.
  ///   - commandFolder: Folder of other relative paths, for commands that are typed in another one; nil for that of this process.
  init?(_ stream: StreamOptions, of serviceFolder: String?, isInService: Bool, in commandFolder: String?) {
    guard let settings = try? stream.recordingSettings(existing: .number) else { return nil }
    let pattern = settings.pattern.folder
    // Of a unit with another `WorkingDirectory=`, relative paths are below that.
    let ownFolder: String? = serviceFolder.flatMap { isInService && !Self.isCurrent($0) ? nil : $0 }
    let folder = (ownFolder ?? commandFolder).map { ServiceFolder.resolved(pattern, in: $0) } ?? pattern
    var isFolder: ObjCBool = false
    let exists = FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) && isFolder.boolValue
    let files = settings.retention == .init() || !exists ? [] : Recordings.list(matching: settings.pattern)
    self.init(
      stream: stream.name, folder: folder, exists: exists, isCreatable: Self.isCreatable(folder),
      isWritable: access(folder, W_OK | X_OK) == 0
        && (isInService || serviceFolder.map { Self.isShared(folder, with: $0) } ?? true),
      serviceFolder: serviceFolder,
      space: DiskSpace(ofFolder: folder), recordedByteCount: files.reduce(0) { $0 + $1.byteCount },
      bitrate: stream.bitrate + (stream.audio == "none" ? 0 : stream.audioBitrate),
      minimumFreeByteCount: settings.minimumFreeByteCount, keepAge: settings.retention.age,
      keepSize: settings.retention.byteCount)
    self.obstacle = Self.obstacle(of: folder)
    self.user = CurrentUser.word
    self.isInService = isInService
    var status = stat()
    if stat(folder, &status) == 0 {
      self.isOwn = status.st_uid == geteuid()
      self.isClosedToOwner = status.st_mode & 0o300 != 0o300
      self.isOfRoot = status.st_uid == 0
    }
  }

  /// Whether a folder is the one of this process, in which relative paths are.
  private static func isCurrent(_ folder: String) -> Bool {
    var (status, current) = (stat(), stat())
    guard stat(folder, &status) == 0, stat(".", &current) == 0 else { return false }
    return status.st_dev == current.st_dev && status.st_ino == current.st_ino
  }

  /// Reason why rights to a folder, or to the one in which it is to be created, do not help; nil where they do.
  private static func obstacle(of folder: String) -> RecordingFacts.Obstacle? {
    var path = folder
    var status = stat()
    while stat(path, &status) != 0 {
      if errno == EACCES { return .closed }
      let parent = (path as NSString).deletingLastPathComponent
      guard path != ".", parent != path else { return nil }
      path = parent.isEmpty ? "." : parent
    }
    if status.st_mode & S_IFMT != S_IFDIR { return .file(path) }
    return access(path, W_OK) != 0 && errno == EROFS ? .readOnly(path) : nil
  }

  /// Whether the owner of the service's folder, as which it runs, may write to a folder: where it is its own, or one of all users.
  private static func isShared(_ folder: String, with serviceFolder: String) -> Bool {
    var (own, service) = (stat(), stat())
    guard stat(folder, &own) == 0, stat(serviceFolder, &service) == 0 else { return false }
    return own.st_uid == service.st_uid || own.st_mode & S_IWOTH != 0
  }

  /// Whether this user may write to the first folder above a path that exists.
  private static func isCreatable(_ path: String) -> Bool {
    var parent = path
    while access(parent, F_OK) != 0 {
      let next = (parent as NSString).deletingLastPathComponent
      guard !next.isEmpty, next != parent else { return access(".", W_OK | X_OK) == 0 }
      parent = next
    }
    return access(parent, W_OK | X_OK) == 0
  }
}
