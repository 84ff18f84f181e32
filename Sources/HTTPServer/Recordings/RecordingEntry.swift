internal import Media
internal import Streaming

/// What `/api/streams/NAME/recording` says.
struct RecordingEntry: Encodable, Sendable {
  var state: HTTPServerRecorder.State
  /// The address of the file being written, or the last one.
  var file: String?
  /// In seconds.
  var duration: Double
  var bytes: Int
  var bitrate: Int
  var drops: Int
  var error: String?

  init(_ status: HTTPServerRecorder.Status, stream: String) {
    self.state = status.state
    self.file = status.file.map { RecordedFileEntry.path(ofFile: $0, stream: stream) }
    self.duration = status.duration.seconds
    self.bytes = status.byteCount
    self.bitrate = status.bitrate
    self.drops = status.drops
    self.error = status.error
  }
}

/// What the body of a request to `/api/streams/NAME/recording` says.
struct RecordingOrder: Decodable, Sendable {
  var action: HTTPServerRecorder.Action
}

/// What `/api/recordings` says.
struct RecordingList: Encodable, Sendable {
  /// The last one first.
  var recordings: [RecordedFileEntry]
  /// How many there are, listed or not, and the bytes of all.
  var total: Int
  var bytes: Int
}

/// What the API says of one recorded file.
struct RecordedFileEntry: Encodable, Sendable {
  var stream: String
  var name: String
  /// Its address.
  var file: String
  var bytes: Int
  var modifiedAt: String
  var finished: Bool

  init(_ file: HTTPServerRecorder.File, stream: String) {
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
