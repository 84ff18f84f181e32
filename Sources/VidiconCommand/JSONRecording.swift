import Media
import Recording

/// JSON output about recordings, one object per line.
enum JSONRecording {
  /// Progress of a recording.
  struct Status: Encodable {
    var state: String
    var path: String?
    var parts: Int
    var seconds: Double
    var bytes: Int
    var bitrate: Int
    var dropped: Int

    init(_ status: RecordingStatus) {
      self.state = status.state.rawValue
      self.path = status.path
      self.parts = status.partCount
      self.seconds = status.duration.seconds
      self.bytes = status.byteCount
      self.bitrate = status.bitrate
      self.dropped = status.videoSamplesDropped
    }
  }

  /// An event of a recording.
  struct Event: Encodable {
    var event = "recording"
    var stream: String
    var change: String
    var path: String?
    var seconds: Double?
    var bytes: Int?
    var error: String?

    init(_ event: RecordingEvent, of stream: String) {
      self.stream = stream
      switch event {
      case .partStarted(let path): (self.change, self.path) = ("started", path)
      case .paused: self.change = "paused"
      case .resumed: self.change = "resumed"
      case .fellBehind: self.change = "fellBehind"
      case .partFinished(let file):
        (self.change, self.path, self.seconds, self.bytes) =
          ("finished", file.path, file.duration.seconds, file.byteCount)
      case .partNotFinished(let error):
        (self.change, self.path, self.error) = ("notFinished", error.subject, error.description)
      case .leftover(let repair): (self.change, self.path, self.error) = ("repaired", repair.path, repair.problem)
      case .removedOld(let path): (self.change, self.path) = ("removed", path)
      case .agesUnknown: self.change = "agesUnknown"
      case .failed(let error): (self.change, self.path, self.error) = ("failed", error.subject, error.description)
      case .ended: self.change = "ended"
      }
    }
  }
}

extension Recordings.Repair {
  /// The path of the file.
  var path: String {
    switch self {
    case .finished(let file): file.path
    case .wasFinished(let path), .removedEmpty(let path): path
    case .failed(let error): error.subject
    }
  }

  /// Error of a failed repair, as one line; nil for other results.
  var problem: String? {
    if case .failed(let error) = self { error.description } else { nil }
  }

  /// The result in words.
  var summary: String {
    switch self {
    case .finished(let file):
      "\(file.summary)   finished"
        + (file.lostByteCount > 0
          ? ", without its last \(file.lostByteCount) bytes, which are an incomplete fragment" : "")
    case .wasFinished(let path): "\(path)   was finished already"
    case .removedEmpty(let path): "\(path)   removed; nothing had been recorded in it"
    case .failed(let error): "\(error)"
    }
  }
}
