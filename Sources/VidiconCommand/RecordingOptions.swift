import Media
import Recording

/// How a stream is recorded, as its user asks for it.
struct RecordingOptions: Equatable {
  /// The names of the files, with fields of time and `{name}`; nil for no recording.
  var pattern: String?
  var splitDuration: MediaDuration?
  var splitSize: Int?
  var keepAge: MediaDuration?
  var keepSize: Int?
  var overwrites = false
  var title: String?

  /// The recorder's settings; nil for no recording.
  ///
  /// - Parameters:
  ///   - stream: The stream's name, which `{name}` stands for; its slashes become dashes, to be part of a file's name.
  ///   - existing: What to do where a name is taken and nothing may be overwritten.
  func settings(
    stream: String, existing: RecordingSettings.ExistingFiles
  ) throws(Failure) -> RecordingSettings? {
    guard let pattern else { return nil }
    do throws(RecordingError) {
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
