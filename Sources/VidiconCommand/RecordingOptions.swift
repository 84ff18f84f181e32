import Foundation
import Media
import Recording

/// How a stream is recorded, as its user asks for it.
struct RecordingOptions: Equatable {
  /// The names of the files, with fields of time and `{name}`; nil for no recording at the start.
  var pattern: String?
  /// Where there is no pattern: the folder of recordings that are started later; nil for none.
  var folder: String?
  var splitDuration: MediaDuration?
  var splitSize: Int?
  var keepAge: MediaDuration?
  var keepSize: Int?
  var overwrites = false
  var title: String?

  /// Whether it is recorded from the start.
  var startsAtOnce: Bool { self.pattern != nil }

  /// The names of files in a folder, which sort by stream and time.
  private static func pattern(inFolder folder: String) -> String {
    "\(folder.replacing("%", with: "%%"))/{name}_%F_%H-%M-%S.mp4"
  }

  /// Makes sure that recordings can be started later, as far as that is known now.
  func checkFolder() throws(Failure) {
    guard let folder, self.pattern == nil else { return }
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
      throw Failure("--recordings \(folder): there is no such folder; make it (mkdir -p), or give another one")
    }
  }

  /// The recorder's settings; nil where it cannot be recorded.
  ///
  /// - Parameters:
  ///   - stream: The stream's name, which `{name}` stands for; its slashes become dashes, to be part of a file's name.
  ///   - existing: What to do where a name is taken and nothing may be overwritten.
  func settings(
    stream: String, existing: RecordingSettings.ExistingFiles
  ) throws(Failure) -> RecordingSettings? {
    guard let pattern = self.pattern ?? self.folder.map(Self.pattern(inFolder:)) else { return nil }
    do throws(VidiconError) {
      return RecordingSettings(
        try FilePattern(pattern.replacing("{name}", with: stream.replacing("/", with: "-"))),
        existingFiles: self.overwrites ? .overwrite : existing,
        partDuration: self.splitDuration,
        partByteCount: self.splitSize,
        retention: .init(age: self.keepAge, byteCount: self.keepSize),
        title: self.title)
    } catch {
      throw .usage("\(error)")
    }
  }
}
