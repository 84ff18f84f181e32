package import Media
package import Recording

/// Remote control of one stream's recorder. ``RecordingStatus/file`` and messages name files, never folders.
package struct RecordingControl: Sendable {
  /// Action that a client requests of a recorder.
  package enum Action: String, Hashable, Sendable, CaseIterable, Codable {
    /// Starts a recording.
    case start
    /// Ends the recording; its files are finished in the background, while the next one can start.
    case stop
    /// Leaves out the samples that follow, until ``resume``.
    case pause
    /// Continues with the next keyframe.
    case resume
  }

  /// Performs an action; ``Action/stop`` returns at once, and the files are finished in the background.
  ///
  /// Throws ``VidiconError``: `wrongState` when the action does not fit the recorder's state, other codes when it failed.
  package var perform: @Sendable (Action) async throws(VidiconError) -> Void
  /// Status of the recorder. A requested pause or resume is shown at once, before the samples up to it are written. Does not block.
  package var status: @Sendable () -> RecordingStatus
  /// The recorder's files, oldest first. May block.
  package var files: @Sendable () -> [RecordedFile]
  /// One of the files, by its ``RecordedFile/name``. Reads nothing but that file; may block.
  package var file: @Sendable (_ name: String) -> RecordedFile?

  /// Creates a control from closures, for tests.
  package init(
    perform: @escaping @Sendable (Action) async throws(VidiconError) -> Void,
    status: @escaping @Sendable () -> RecordingStatus,
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
      var status = recorder.status
      status.state = status.state.shown(isPauseRequested: recorder.isPauseRequested)
      return status
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
