package import Media
package import Recording

/// Remote control of one stream's recorder. Statuses and messages name files, never folders.
package struct RecordingControl: Sendable {
  /// Action that a client requests of a recorder.
  package enum Action: String, Hashable, Sendable, CaseIterable, Decodable {
    /// Starts a recording.
    case start
    /// Ends the recording; its files are finished in the background, while the next one can start.
    case stop
    /// Leaves out the samples that follow, until ``resume``.
    case pause
    /// Continues with the next keyframe.
    case resume
  }

  /// Progress of the current recording, or result of the last one.
  package struct Status: Hashable, Sendable {
    /// The recorder's state. A requested pause or resume is shown at once, before the samples up to it are written.
    package var state: RecordingStatus.State
    /// Name of the file being written, or of the last one; nil before the first.
    package var file: String?
    /// Length of all parts together, without pauses.
    package var duration: MediaDuration
    /// Bytes written to all parts.
    package var byteCount: Int
    /// Bits per second over the last seconds.
    package var bitrate: Int
    /// Video and audio samples dropped because the disk was too slow.
    package var drops: Int
    /// Reason why the recorder stopped by itself, for users; nil while it has not.
    package var error: String?

    /// Creates a status; by default that of a recorder that has not recorded.
    package init(
      state: RecordingStatus.State = .idle, file: String? = nil, duration: MediaDuration = .zero, byteCount: Int = 0,
      bitrate: Int = 0, drops: Int = 0, error: String? = nil
    ) {
      self.state = state
      self.file = file
      self.duration = duration
      self.byteCount = byteCount
      self.bitrate = bitrate
      self.drops = drops
      self.error = error
    }
  }

  /// Performs an action; ``Action/stop`` returns at once, and the files are finished in the background.
  ///
  /// Throws ``VidiconError``: `wrongState` when the action does not fit the recorder's state, other codes when it failed.
  package var perform: @Sendable (Action) async throws(VidiconError) -> Void
  /// The current status. Does not block.
  package var status: @Sendable () -> Status
  /// The recorder's files, oldest first. May block.
  package var files: @Sendable () -> [RecordedFile]
  /// One of the files, by its ``RecordedFile/name``. Reads nothing but that file; may block.
  package var file: @Sendable (_ name: String) -> RecordedFile?

  /// Creates a control from closures, for tests.
  package init(
    perform: @escaping @Sendable (Action) async throws(VidiconError) -> Void, status: @escaping @Sendable () -> Status,
    files: @escaping @Sendable () -> [RecordedFile], file: @escaping @Sendable (_ name: String) -> RecordedFile?
  ) {
    self.perform = perform
    self.status = status
    self.files = files
    self.file = file
  }

  /// Creates the control of a recorder.
  package init(_ recorder: Recorder) {
    self.init { action throws(VidiconError) in
      try await recorder.perform(action)
    } status: {
      let status = recorder.status
      return Status(
        state: status.state.shown(isPauseRequested: recorder.isPauseRequested),
        file: status.path.map { recorder.settings.pattern.name(ofFile: $0) },
        duration: status.duration, byteCount: status.byteCount, bitrate: status.bitrate,
        drops: status.videoSamplesDropped + status.audioSamplesDropped, error: status.error?.reason)
    } files: {
      recorder.files()
    } file: {
      recorder.file(named: $0)
    }
  }
}

extension Recorder {
  fileprivate func perform(_ action: RecordingControl.Action) async throws(VidiconError) {
    switch action {
    case .start: try await self.start()
    case .pause: try self.pause()
    case .resume: try self.resume()
    case .stop:
      // A second stop while the files are being finished is no mistake.
      if self.status.state == .finishing { return }
      try self.requestStop()
    }
  }
}

extension VidiconError {
  /// Cause and next step without the subject, which for a recording is the path of a file.
  package var reason: String { "\(self.cause); \(self.nextStep)" }
}

extension RecordingStatus.State {
  /// The state that a requested pause or resume leads to.
  fileprivate func shown(isPauseRequested: Bool) -> RecordingStatus.State {
    switch self {
    case .waiting, .recording: isPauseRequested ? .paused : self
    case .paused: isPauseRequested ? .paused : .waiting
    case .idle, .finishing, .failed: self
    }
  }
}
