internal import Codecs
public import Media

/// Why a stream cannot start, or has ended by itself.
public enum StreamError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Neither video nor audio is attached.
  case nothingAttached
  /// It was started before.
  case alreadyStarted
  /// It was stopped while it started.
  case stopped
  /// It has ended, and no source can be changed any more.
  case ended
  /// It was started without a track of this kind, and gets none while it runs.
  case missingTrack(MediaKind)
  /// The name cannot stand in an address; what is wrong with it.
  case unusableName(String, cause: String)
  /// Another stream of that name is published.
  case nameTaken(String)
  /// A source cannot be opened or gives nothing usable.
  case capture(VidiconError)
  /// The task that asked for a start or a switch was cancelled before its turn came.
  case cancelled
  /// The system has no thread left.
  case noThread
  /// An encoder cannot be opened or has failed.
  case codec(VidiconError)

  /// One line with cause and next step.
  public var description: String {
    switch self {
    case .nothingAttached: "the stream has no source; attach video or audio to it before it is published"
    case .alreadyStarted: "the stream was started before; make a new one"
    case .stopped: "the stream was stopped before it had started; start a new one"
    case .ended: "the stream has ended; start a new one"
    case .missingTrack(let kind):
      "the stream has no \(kind.rawValue) track, and none can be added while it runs; start it with \(kind == .audio ? "an" : "a") \(kind.rawValue) source"
    case .unusableName(let name, let cause):
      "the name \(name.debugDescription) cannot be used: \(cause); choose another one"
    case .nameTaken(let name): "a stream with the name \"\(name)\" is published already; give each its own"
    case .cancelled: "it was called off before its turn came; ask again"
    case .noThread: "no thread can be started; end other programs, or raise ulimit -u"
    case .capture(let error): error.description
    case .codec(let error): error.description
    }
  }
}
