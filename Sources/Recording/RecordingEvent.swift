public import Media

/// An event of a recording, in order of occurrence.
public enum RecordingEvent: Hashable, Sendable {
  /// A part begins in a new file.
  case partStarted(path: String)
  /// The recording is paused; the samples before the pause are on disk.
  case paused
  /// The recording resumes at the next keyframe.
  case resumed
  /// The disk was too slow and samples were dropped; the recording resumes at the next keyframe, as after a pause.
  case fellBehind
  /// A part has become a progressive MP4 file.
  case partFinished(FinishedRecording)
  /// A part stays a fragmented MP4 file, which plays and can be repaired.
  case partNotFinished(VidiconError)
  /// A file left by an earlier crash was found; the value is the outcome of its repair.
  case leftover(Recordings.Repair)
  /// A file was removed by the retention rule.
  case removedOld(path: String)
  /// No file is removed by age, since the machine's clock is not synchronized by a time service; reported once per
  /// recording.
  case agesUnknown
  /// The recording stopped because of an error; the stream continues, and what was written is kept.
  case failed(VidiconError)
  /// The recording has ended, and its files are finished.
  case ended
}
