internal import HTTPServer
internal import Media
internal import Recording

extension HTTPServerRecorder {
  /// A recorder, as HTTP offers it: with the names of its files, not where they are.
  init(_ recorder: Recorder) {
    self.init { action throws(Failure) in
      do throws(VidiconError) {
        try await recorder.perform(action)
      } catch {
        throw Failure(
          isWrongState: error.code == .wrongState, reason: error.reason)
      }
    } status: {
      let status = recorder.status
      return Status(
        state: State(status.state, isPauseRequested: recorder.isPauseRequested),
        file: status.path.map { recorder.settings.pattern.name(ofFile: $0) },
        duration: status.duration, byteCount: status.byteCount, bitrate: status.bitrate,
        drops: status.videoSamplesDropped + status.audioSamplesDropped, error: status.error?.reason)
    } files: {
      recorder.files().map { file in
        File(
          name: file.name, path: file.path, byteCount: file.byteCount, modificationTime: file.modificationTime,
          isFinished: file.isFinished)
      }
    }
  }
}

extension Recorder {
  fileprivate func perform(_ action: HTTPServerRecorder.Action) async throws(VidiconError) {
    switch action {
    case .start: try await self.start()
    case .pause: try self.pause()
    case .resume: try self.resume()
    case .stop:
      // Twice is no mistake while the files are being finished: both wait for that.
      guard ![.idle, .failed].contains(self.status.state) else {
        throw VidiconError(
          .wrongState, subject: self.settings.pattern.description, cause: "no recording runs", nextStep: "start one")
      }
      await self.stop()
    }
  }
}

extension VidiconError {
  /// Cause and next step, without the subject, which may be a path.
  fileprivate var reason: String { "\(self.cause); \(self.nextStep)" }
}

extension HTTPServerRecorder.State {
  /// What it is doing, or does next: who has told it to pause sees that in the answer.
  fileprivate init(_ state: RecordingStatus.State, isPauseRequested: Bool) {
    self =
      switch state {
      case .idle: .idle
      case .waiting: isPauseRequested ? .paused : .waiting
      case .recording: isPauseRequested ? .paused : .recording
      case .paused: isPauseRequested ? .paused : .waiting
      case .finishing: .finishing
      case .failed: .failed
      }
  }
}
