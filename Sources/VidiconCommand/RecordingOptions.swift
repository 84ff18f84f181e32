import Foundation
import Media
import Recording

/// The recording that the user requests for a stream.
struct RecordingOptions: Equatable {
  /// Pattern of the file names, with time fields and `{name}`; nil for no recording at the start.
  var pattern: String?
  /// Folder of recordings that are started later, when there is no pattern; nil for none.
  var folder: String?
  var splitDuration: MediaDuration?
  var splitSize: Int?
  var keepAge: MediaDuration?
  var keepSize: Int?
  /// Bytes that stay free on the disk; nil for the default.
  var keepFree: Int?
  var overwrites = false
  var title: String?

  /// Whether the recording starts with the stream.
  var startsAtOnce: Bool { self.pattern != nil }

  /// The pattern of files in a folder, sorted by stream and time.
  private static func pattern(inFolder folder: String) -> String {
    "\(folder.replacing("%", with: "%%"))/{name}_%F_%H-%M-%S.mp4"
  }

  /// Checks that the folder of later recordings exists.
  func checkFolder() throws(VidiconError) {
    guard let folder, self.pattern == nil else { return }
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
      throw VidiconError(
        .notFound, subject: "--recordings \(folder.pathWithoutCredentials())", cause: "there is no such folder",
        nextStep: "create it (mkdir -p), or give another one")
    }
  }

  /// The recorder's settings; nil where neither a pattern nor a folder is given.
  ///
  /// - Parameters:
  ///   - stream: The stream's name, for `{name}`; slashes become dashes.
  ///   - existing: How to handle an existing file, unless overwriting is on.
  func settings(
    stream: String, existing: RecordingSettings.ExistingFiles
  ) throws(VidiconError) -> RecordingSettings? {
    guard let pattern = self.pattern ?? self.folder.map(Self.pattern(inFolder:)) else { return nil }
    return RecordingSettings(
      try FilePattern(pattern.replacing("{name}", with: stream.replacing("/", with: "-"))),
      existingFiles: self.overwrites ? .overwrite : existing,
      partDuration: self.splitDuration,
      partByteCount: self.splitSize,
      retention: .init(age: self.keepAge, byteCount: self.keepSize),
      minimumFreeByteCount: self.keepFree,
      title: self.title)
  }
}
