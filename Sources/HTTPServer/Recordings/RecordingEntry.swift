internal import Media
internal import Recording
internal import StreamControl
internal import Streaming

/// The JSON of `/api/streams/NAME/recording` for clients that may not read recordings.
struct RecordingStateEntry: Encodable, Sendable {
  var state: String
}

/// The JSON of `/api/streams/NAME/recording`.
struct RecordingEntry: Encodable, Sendable {
  var state: String
  /// The address of the file being written, or the last one.
  var file: String?
  /// In seconds.
  var duration: Double
  var bytes: Int
  var bitrate: Int
  var drops: Int
  var error: String?

  init(_ status: RecordingControl.Status, stream: String) {
    self.state = status.state.rawValue
    self.file = status.file.map { RecordedFileEntry.path(ofFile: $0, stream: stream) }
    self.duration = status.duration.seconds
    self.bytes = status.byteCount
    self.bitrate = status.bitrate
    self.drops = status.drops
    self.error = status.error
  }
}

/// The body of `POST /api/streams/NAME/recording`.
struct RecordingRequest: Decodable, Sendable {
  var action: RecordingControl.Action
}

/// The JSON of `/api/recordings`.
struct RecordingList: Encodable, Sendable {
  /// Newest first.
  var recordings: [RecordedFileEntry]
  /// Number and bytes of all files, listed or not.
  var total: Int
  var bytes: Int
}

/// The JSON of one recorded file.
struct RecordedFileEntry: Encodable, Sendable {
  var stream: String
  var name: String
  /// Address of the file.
  var file: String
  var bytes: Int
  var modifiedAt: String
  var finished: Bool
  /// For the query of a link to the file; nil where no credentials are needed, or the browser sends them.
  var ticket: String?

  init(_ file: RecordedFile, stream: String) {
    self.stream = stream
    self.name = file.name
    self.file = Self.path(ofFile: file.name, stream: stream)
    self.bytes = file.byteCount
    self.modifiedAt = CalendarTime(unixTime: MediaDuration(nanoseconds: file.modificationTime)).rfc3339
    self.finished = file.isFinished
  }

  /// The path of a file: `/recordings/STREAM/NAME`.
  static func path(ofFile name: String, stream: String) -> String {
    "/recordings" + LiveStream.path(ofName: "\(stream)/\(name)")
  }
}
