import Foundation
import Media
import Recording

/// An event of a recording as JSON, one object per line.
struct JSONRecordingEvent: Encodable {
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
    case .fileFull(let path): (self.change, self.path) = ("fileFull", path)
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
      "\(file.summary)   finished\(file.losses)"
    case .wasFinished(let path): "\(path)   was finished already"
    case .removedEmpty(let path): "\(path)   removed; nothing had been recorded in it"
    case .failed(let error): "\(error)"
    }
  }
}

extension FinishedRecording {
  /// Losses of a repair, in words; empty when nothing was lost.
  fileprivate var losses: String {
    let damaged = self.damage.reduce(0) { $0 + $1.byteCount }
    var parts: [String] = []
    if !self.damage.isEmpty {
      let times = self.damage.compactMap(\.lostDuration)
      let time = String(format: "%.1f s", times.reduce(0) { $0 + $1.seconds })
      let places = self.damage.count == 1 ? "1 damaged place" : "\(self.damage.count) damaged places"
      let isTimeKnown = times.count == self.damage.count
      parts.append("without \(damaged) bytes in \(places), \(isTimeKnown ? "" : "at least ")\(time) of the recording")
    }
    if self.lostByteCount > damaged {
      parts.append("without its last \(self.lostByteCount - damaged) bytes, which are an incomplete fragment")
    }
    if let original { parts.append("the damaged file is kept as \(original)") }
    return parts.map { ", " + $0 }.joined()
  }
}
