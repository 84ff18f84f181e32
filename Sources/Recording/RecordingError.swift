#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Why a recording cannot start, has stopped by itself, or a file cannot be finished.
public struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  public enum Code: Hashable, Sendable {
    /// The text is not a name for files.
    case invalidName
    /// There is such a file already.
    case exists
    /// The folder or file is not there, or not any more.
    case notFound
    /// It may not be written there.
    case notPermitted
    /// There is no room left.
    case noSpace
    /// Another recording, or a repair, is using the file.
    case busy
    /// A recording runs already, or none does.
    case wrongState
    /// The stream has nothing that can be recorded.
    case nothingToRecord
    /// The file is not one that can be repaired.
    case notARecording
    /// The disk, or the system, has failed.
    case failed
  }

  /// What kind of failure it is.
  public var code: Code
  /// The file, as its user names it.
  public var path: String
  /// What happened, for a user to read: no capital at the start, no full stop at the end.
  public var cause: String
  /// What the user can do about it.
  public var nextStep: String

  /// An error.
  public init(_ code: Code, path: String, cause: String, nextStep: String) {
    self.code = code
    self.path = path
    self.cause = cause
    self.nextStep = nextStep
  }

  /// The system has no thread left.
  static func noThread(path: String) -> RecordingError {
    RecordingError(
      .failed, path: path, cause: "no thread can be started", nextStep: "end other programs, or raise ulimit -u")
  }

  /// One line with file, cause and next step.
  public var description: String {
    let path = String(self.path.map { $0.isNewline ? " " : $0 })
    // A name may be as long as its user likes; both ends tell which it is.
    let shown = path.count > 160 ? "\(path.prefix(100))…\(path.suffix(40))" : path
    return "\(shown): \(self.cause); \(self.nextStep)"
  }

  /// The error of a system call.
  ///
  /// - Parameters:
  ///   - number: `errno`.
  ///   - path: What it was about.
  init(_ number: Int32, path: String) {
    let (code, cause, nextStep): (Code, String, String) =
      switch number {
      case ENOSPC: (.noSpace, "the disk is full", "make room, or record to another disk")
      case EDQUOT: (.noSpace, "the disk quota is used up", "make room, or record to another disk")
      case EFBIG:
        (.noSpace, "the file may not grow any larger", "record in parts, or raise the limit (ulimit -f)")
      case ENOENT, ENOTDIR: (.notFound, "the folder does not exist", "make it, or give another one")
      case EISDIR: (.invalidName, "it is a folder", "give the name of a file in it")
      case ENAMETOOLONG: (.invalidName, "the name is too long", "give one of at most 250 bytes")
      case EACCES, EPERM: (.notPermitted, "it may not be written", "check who owns the folder and may write to it")
      case EROFS: (.notPermitted, "the disk is read-only", "record to another disk, or mount it writable")
      case EEXIST: (.exists, "it exists already", "give another name, or allow overwriting")
      case EMFILE, ENFILE: (.failed, "too many files are open", "raise the limit (ulimit -n)")
      default:
        (.failed, "the disk fails (\(String(cString: strerror(number))))", "check the disk, or record to another one")
      }
    self.init(code, path: path, cause: cause, nextStep: nextStep)
  }
}
