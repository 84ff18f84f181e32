import Foundation
import Media
import Recording
import Streaming

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
  /// Name of the rendition that is recorded.
  var rendition = RenditionName.main
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

  /// Checks that the stream may have the rendition to record.
  func checkRendition(of stream: String, among renditions: RenditionChoice) throws(VidiconError) {
    guard !renditions.paths(of: stream).contains("\(stream)/\(self.rendition)") else { return }
    throw self.unknown(known: renditions.paths(of: "").map { String($0.dropFirst()) })
  }

  /// A recorder of the stream that has its first frame, made before it starts; nil where nothing is recorded from the start on, or
  /// a rendition, whose first frame comes when it is used.
  func recorder(beforeStartOf stream: LiveStream, settings: RecordingSettings) -> Recorder? {
    self.startsAtOnce && self.rendition == RenditionName.main
      ? Recorder(beforeStartOf: stream, settings: settings) : nil
  }

  /// A recorder of the rendition to record; its stream runs.
  func recorder(of stream: LiveStream, settings: RecordingSettings) throws(VidiconError) -> Recorder {
    guard let rendition = stream.rendition(named: self.rendition) else {
      throw self.unknown(known: [RenditionName.main] + stream.renditions.map(\.name))
    }
    return Recorder(rendition, settings: settings)
  }

  private func unknown(known: [String]) -> VidiconError {
    VidiconError(
      .notFound, subject: "rendition \(quoted(self.rendition))", cause: "the stream has none of this name",
      nextStep: "choose one of: \(known.joined(separator: ", "))")
  }
}
