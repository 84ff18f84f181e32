package import Media

// Errors of streams as a whole; sources and codecs throw their own, which streams pass on unchanged.
extension VidiconError {
  /// Neither video nor audio is attached.
  package static let streamHasNoSource = Self.stream(
    .missingTrack, "it has no source", nextStep: "attach video or audio to it before it is served")
  /// The stream was started before.
  package static let streamAlreadyStarted = Self.stream(
    .wrongState, "it was started before", nextStep: "create a new one")
  /// The stream was stopped before its start had finished.
  package static let streamStopped = Self.stream(
    .wrongState, "it was stopped before it had started", nextStep: "start a new one")
  /// The stream has ended; its sources cannot be changed any more.
  package static let streamEnded = Self.stream(.wrongState, "it has ended", nextStep: "start a new one")
  /// The task that requested a start or a switch was cancelled before that had begun.
  package static let streamRequestCancelled = Self.stream(
    .cancelled, "the request was cancelled before it began", nextStep: "try again")
  /// The stream has no video, has not started, or has ended.
  package static let streamHasNoFrame = Self.stream(
    .wrongState, "it shows no frame", nextStep: "try again while it runs, or choose a stream with video")
  /// ``StreamSnapshots/snapshot(width:)`` is computing as many different widths as it can.
  package static let tooManySnapshotWidths = Self.stream(
    .busy, "snapshots of too many widths are requested at once",
    nextStep: "try again, or request a width that others use")

  /// The stream was started without a track of this kind, and cannot get one while it runs.
  ///
  /// Its code is `wrongState`; `missingTrack` means that a source lacks the track.
  package static func streamHasNoTrack(_ kind: MediaKind) -> VidiconError {
    Self.stream(
      .wrongState, "it has no \(kind.rawValue) track, and none can be added while it runs",
      nextStep: "start it with \(kind == .audio ? "an" : "a") \(kind.rawValue) source")
  }

  /// The start of a source has not returned in time.
  static func sourceNotOpen(_ subject: String, after timeout: MediaDuration) -> VidiconError {
    VidiconError(
      .failed, subject: subject, cause: "it was not open after \(timeout.seconds) s",
      nextStep: "check that it answers, then try again")
  }

  /// The name cannot be part of an address, see ``LiveStream/problem(withName:)``.
  package static func streamNameUnusable(_ name: String, cause: String) -> VidiconError {
    VidiconError(
      .invalidSpecification, subject: "stream name \(name.debugDescription)", cause: cause,
      nextStep: "choose another name")
  }

  /// Another stream of that name is served.
  package static func streamNameTaken(_ name: String) -> VidiconError {
    VidiconError(
      .alreadyExists, subject: "stream name \(name.debugDescription)",
      cause: "a stream of that name is served already", nextStep: "give each stream its own name")
  }

  /// No video of the stream is encoded, so that it has no further renditions.
  package static let streamEncodesNoVideo = Self.stream(
    .wrongState, "it has no video, or has not started", nextStep: "start it with a video source")

  /// The stream has no rendition of that name, or no longer.
  package static func renditionNotFound(_ name: String) -> VidiconError {
    VidiconError(
      .notFound, subject: "rendition \(name.debugDescription)", cause: "the stream has none of this name",
      nextStep: "choose one that it has")
  }

  private static func stream(_ code: Code, _ cause: String, nextStep: String) -> VidiconError {
    VidiconError(code, subject: "stream", cause: cause, nextStep: nextStep)
  }
}
