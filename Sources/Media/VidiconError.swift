/// An error for the user of the program or library: what failed, why, and what to do about it.
///
/// Sources, codecs and streams all throw it, so that no layer has to translate the error of the one below.
public struct VidiconError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure, for code that reacts to it.
  public enum Code: Hashable, Sendable {
    /// A text that names a source, option or device cannot be parsed.
    case invalidSpecification
    /// The file, device or encoder does not exist.
    case notFound
    /// It exists, but this user may not open it.
    case notPermitted
    /// It was opened, but its content cannot be used.
    case invalidData
    /// It has no video, or no audio, where that was asked for.
    case missingTrack
    /// It exists, but does not accept the requested settings.
    case unsupported
    /// Anything else: the device, file, codec or system call failed.
    case failed
  }

  /// The kind of failure.
  public var code: Code
  /// What the error is about, as its user names it: a source, a file, an encoder.
  public var subject: String
  /// What happened: no capital at the start, no full stop at the end.
  public var cause: String
  /// What the user can do about it.
  public var nextStep: String

  /// An error with its parts.
  public init(_ code: Code, subject: String, cause: String, nextStep: String) {
    self.code = code
    self.subject = subject
    self.cause = cause
    self.nextStep = nextStep
  }

  /// One line: `subject: cause; next step`.
  public var description: String {
    "\(self.subject): \(self.cause); \(self.nextStep)"
  }
}

extension VidiconError {
  /// The system can start no thread, or a thread for `subject`.
  package static func noThread(_ subject: String) -> VidiconError {
    VidiconError(
      .failed, subject: subject, cause: "no thread can be started",
      nextStep: "end other programs, or raise the limit of processes (ulimit -u)")
  }
}
