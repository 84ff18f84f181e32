public import Capture
public import Codecs

/// Why a stream cannot start, or has ended by itself.
public enum StreamError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Neither video nor audio is attached.
  case nothingAttached
  /// It was started before.
  case alreadyStarted
  /// It was stopped while it started.
  case stopped
  /// A source cannot be opened or gives nothing usable.
  case capture(CaptureError)
  /// An encoder cannot be opened or has failed.
  case codec(CodecError)

  /// One line with cause and next step.
  public var description: String {
    switch self {
    case .nothingAttached: "the stream has no source; attach video or audio to it before it is published"
    case .alreadyStarted: "the stream was started before; make a new one"
    case .stopped: "the stream was stopped before it had started; start a new one"
    case .capture(let error): error.description
    case .codec(let error): error.description
    }
  }
}
