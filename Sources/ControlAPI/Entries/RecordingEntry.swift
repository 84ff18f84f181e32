internal import Media
package import Recording
package import StreamControl
internal import Streaming

/// A recording as the HTTP API and the status of `--json` have it; only the state is for clients that may not read recordings.
/// `openapi.json` and `docs/configuration.md` document its keys.
package struct RecordingEntry: Codable, Hashable, Sendable {
  package var state: String
  /// Address of the file being written, or the last one; nil before the first, and in the status of `--json`.
  package var file: String?
  /// Path of the file being written, or the last one; nil before the first, and in the HTTP API, which names no folders.
  package var path: String?
  /// Number of files so far; nil in the HTTP API.
  package var parts: Int?
  /// In seconds.
  package var duration: Double?
  package var bytes: Int?
  package var bitrate: Int?
  /// Video and audio frames that the disk was too slow for; of `vidicon record` also those that were dropped before the encoder.
  package var drops: Int?
  package var error: String?

  /// Describes a recording to clients that may not read recordings.
  package init(state: RecordingStatus.State) {
    self.state = state.rawValue
  }

  /// Describes a recording by the path of its file, for the user of the program.
  package init(withPathOf status: RecordingStatus) {
    self.init(state: status.state)
    self.path = status.path
    self.parts = status.partCount
    self.setProgress(status)
  }

  /// Describes a recording by the address of its file.
  package init(_ status: RecordingStatus, stream: String) {
    self.init(state: status.state)
    self.file = status.file.map { RecordedFileEntry.path(ofFile: $0, stream: stream) }
    self.setProgress(status)
  }

  private mutating func setProgress(_ status: RecordingStatus) {
    self.duration = status.duration.seconds
    self.bytes = status.byteCount
    self.bitrate = status.bitrate
    self.drops = status.samplesDropped
    self.error = status.error?.reason
  }
}

/// The body of `POST /api/streams/NAME/recording`.
package struct RecordingRequest: Codable, Hashable, Sendable {
  package var action: RecordingControl.Action

  /// Creates a request of an action.
  package init(action: RecordingControl.Action) {
    self.action = action
  }
}

/// The JSON of `/api/recordings`.
package struct RecordingList: Codable, Hashable, Sendable {
  /// Newest first.
  package var recordings: [RecordedFileEntry]
  /// Number of all files, listed or not.
  package var total: Int
  /// Bytes of all files, listed or not.
  package var bytes: Int

  /// Creates a list of some of the files.
  package init(recordings: [RecordedFileEntry], total: Int, bytes: Int) {
    self.recordings = recordings
    self.total = total
    self.bytes = bytes
  }
}

/// The JSON of one recorded file.
package struct RecordedFileEntry: Codable, Hashable, Sendable {
  package var stream: String
  package var name: String
  /// Address of the file.
  package var file: String
  package var bytes: Int
  package var modifiedAt: String
  package var finished: Bool
  /// For the query of a link to the file; nil where no credentials are needed, or the browser sends them.
  package var ticket: String?

  /// Describes a file without a ticket.
  package init(_ file: RecordedFile, stream: String) {
    self.stream = stream
    self.name = file.name
    self.file = Self.path(ofFile: file.name, stream: stream)
    self.bytes = file.byteCount
    self.modifiedAt = CalendarTime(unixTime: MediaDuration(nanoseconds: file.modificationTime)).rfc3339
    self.finished = file.isFinished
  }

  /// The path of a file: `/recordings/STREAM/NAME`.
  fileprivate static func path(ofFile name: String, stream: String) -> String {
    "/recordings" + LiveStream.path(ofName: "\(stream)/\(name)")
  }
}
