import Foundation
import Libc
import Media
import Recording

extension RecordingFacts {
  /// Looks at the folders of a configuration; reads the heads of the files that are there.
  init(_ configuration: ServeConfiguration) {
    self.init(targets: configuration.streams.compactMap { Target($0) })
  }
}

extension RecordingFacts.Target {
  /// The folder of a stream's recordings; nil for a stream without, and for a pattern that cannot be parsed.
  init?(_ stream: StreamOptions) {
    guard let settings = try? stream.recordingSettings(existing: .number) else { return nil }
    let folder = settings.pattern.folder
    var isFolder: ObjCBool = false
    let exists = FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) && isFolder.boolValue
    let files = settings.retention == .init() || !exists ? [] : Recordings.list(matching: settings.pattern)
    self.init(
      stream: stream.name, folder: folder, exists: exists, isCreatable: Self.isCreatable(folder),
      isWritable: access(folder, W_OK | X_OK) == 0,
      space: DiskSpace(ofFolder: folder), recordedByteCount: files.reduce(0) { $0 + $1.byteCount },
      bitrate: stream.bitrate + (stream.audio == "none" ? 0 : stream.audioBitrate),
      minimumFreeByteCount: settings.minimumFreeByteCount, keepAge: settings.retention.age,
      keepSize: settings.retention.byteCount)
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
