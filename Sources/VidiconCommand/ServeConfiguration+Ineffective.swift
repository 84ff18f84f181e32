import Authentication
import Streaming

extension ServeConfiguration {
  /// A line about each setting that is given and has no effect beside others; `serve` accepts them.
  var ineffectiveSettings: [String] {
    var lines: [String] = []
    func add(_ key: Key, _ reason: String) {
      if !self.given[key].isEmpty { lines.append("\(key.rawValue): it has no effect, since \(reason)") }
    }
    if self.access.allowsInsecureBasic, self.access.users.isEmpty, self.userFile == nil {
      add(.insecureBasic, "no user has a password")
    }
    if self.access.recordings == .viewers, self.streams.allSatisfy({ $0.recording == RecordingOptions() }) {
      add(.recordingsFor, "nothing is recorded")
    }
    if self.access.control == .none {
      if !self.fileFolders.isEmpty { add(.files, "no client may choose a source with control none") }
      if self.allowsLinkLocal { add(.linkLocal, "no client may choose a source with control none") }
      if self.streams.allSatisfy(\.pushes.isEmpty) {
        add(.pushAuthorities, "there is no push, nor will be with control none")
      }
    }
    if self.access.corsOrigins.contains("*"), self.access.corsOrigins.count > 1 {
      lines.append("cors: other origins have no effect, since * stands for all")
    }
    let roles = self.access.users.map(\.role) + self.access.tokens.map(\.role)
    for case .publisher(let stream) in roles where !self.streams.contains(where: { $0.name == stream }) {
      lines.append("users: a publisher has no effect, since there is no stream \(quoted(stream))")
    }
    return lines + self.streams.flatMap { $0.ineffectiveSettings + self.idleRecordingSettings(of: $0) }
  }

  /// A line about each setting of recordings of a stream that is never recorded, beside one that is; without any recording,
  /// ``validate()`` refuses them. An option for all streams is not meant for each.
  private func idleRecordingSettings(of stream: StreamOptions) -> [String] {
    guard !stream.mayRecord, self.streams.contains(where: \.mayRecord) else { return [] }
    return StreamOptions.recordingDetails.filter { key in
      !stream.given[key].isEmpty && !self.streams.allSatisfy { $0.given[key].last?.origin == .option }
    }.map { key in
      "\(key.rawValue) of \(quoted(stream.name)): it has no effect, since the stream has neither record nor recordings"
    }
  }
}

extension StreamOptions {
  /// Settings of recordings, without those that permit them.
  fileprivate static let recordingDetails: [Key] = [
    .splitDuration, .splitSize, .keepAge, .keepSize, .keepFree, .overwrite, .title, .recordRendition,
  ]

  /// Whether there may be recordings of the stream, from its start on or later.
  fileprivate var mayRecord: Bool { self.recording.pattern != nil || self.recording.folder != nil }

  /// A line about each setting that is given and has no effect beside others.
  fileprivate var ineffectiveSettings: [String] {
    var lines: [String] = []
    func add(_ key: Key, _ reason: String) {
      guard !self.given[key].isEmpty else { return }
      lines.append("\(key.rawValue) of \(quoted(self.name)): it has no effect, since \(reason)")
    }
    // The preset has one too.
    if self.audio == "none", self.given[.audioBitrate].last?.origin != .preset { add(.audioBitrate, "audio is none") }
    if self.passThrough == .on {
      if self.profile != nil { add(.passThrough, "a profile is encoded always") }
      if self.encoder != StreamOptions().encoder { add(.passThrough, "an encoder is chosen") }
    }
    if self.recording.pattern != nil { add(.recordings, "record names the files") }
    return lines
  }
}
