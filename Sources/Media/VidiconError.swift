/// An error for the user of the program or library: what failed, why, and what to do about it.
///
/// Sources, codecs and streams all throw it, so that no layer has to translate the error of the one below.
public struct VidiconError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure, for code that reacts to it.
  public enum Code: String, Hashable, Sendable, CaseIterable {
    /// A text that names a source, address, option or setting cannot be parsed, or is out of range.
    case invalidSpecification
    /// The file, device, encoder, address or control does not exist.
    case notFound
    /// It exists, but this user may not use it.
    case notPermitted
    /// It was opened, but its content cannot be used.
    case invalidData
    /// It has no video, or no audio, where that was asked for.
    case missingTrack
    /// It exists, but does not accept the requested settings.
    case unsupported
    /// A file, stream or service of that name exists already.
    case alreadyExists
    /// Another program uses the port.
    case portInUse
    /// The disk is full, or a quota or file size limit is reached.
    case noSpace
    /// A limit of concurrent operations is reached; a later attempt may succeed.
    case busy
    /// The operation is not possible in the current state: started twice, ended, not running.
    case wrongState
    /// The task that asked was cancelled before its turn.
    case cancelled
    /// It did not answer in time.
    case timedOut
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
