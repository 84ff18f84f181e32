public import Media

/// An event of a recording, in order of occurrence.
public enum RecordingEvent: Hashable, Sendable {
  /// A part begins, in this file.
  case partStarted(path: String)
  /// The recording pauses; what came before is on the disk.
  case paused
  /// The recording goes on at the next keyframe.
  case resumed
  /// The disk was too slow: the recording goes on at the next keyframe, as after a pause.
  case fellBehind
  /// A part is a finished file now.
  case partFinished(FinishedRecording)
  /// A part stays a fragmented file, which plays and can be repaired.
  case partNotFinished(VidiconError)
  /// A file that an earlier crash had left was found.
  case leftover(Recordings.Repair)
  /// An old file is gone.
  case removedOld(path: String)
  /// The recording has stopped by itself; the stream goes on, and what was written is kept.
  case failed(VidiconError)
  /// The recording is over, and its files are finished.
  case ended
}
