/// An error for the user of the program or library: what failed, why, and what to do about it.
///
/// Thrown by sources, codecs, streams and servers alike, so that no layer translates the errors of the one below.
public struct VidiconError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Kind of failure, for code that reacts to it.
  public enum Code: String, Hashable, Sendable, CaseIterable {
    /// Text for a source, address, option or setting cannot be parsed, or is out of range.
    case invalidSpecification
    /// The file, device, encoder, address or control does not exist.
    case notFound
    /// The subject exists, but this user may not use it.
    case notPermitted
    /// The subject was opened, but its content cannot be used.
    case invalidData
    /// The source has no video, or no audio, although it was requested.
    case missingTrack
    /// The subject exists, but does not accept the requested settings.
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
    /// The calling task was cancelled before the operation started.
    case cancelled
    /// No response within the timeout.
    case timedOut
    /// Any other failure of a device, file, codec or system call.
    case failed
  }

  /// Kind of failure, for code that reacts to it; users see ``description``.
  public var code: Code
  /// Source, file, device or encoder that failed, as the user names it.
  public var subject: String
  /// Event or condition that stopped the operation: lowercase, without a full stop.
  public var cause: String
  /// Action that helps the user: an imperative, lowercase, without a full stop.
  public var nextStep: String

  /// Creates an error; the texts are parts of one line, `SUBJECT: CAUSE; NEXT STEP`. Of a subject that is an address, nothing
  /// is kept that may be a password.
  public init(_ code: Code, subject: String, cause: String, nextStep: String) {
    self.code = code
    self.subject = subject.contains("://") ? subject.withoutCredentials() : subject
    self.cause = cause
    self.nextStep = nextStep
  }

  /// One line: `subject: cause; next step`.
  public var description: String {
    "\(self.subject): \(self.cause); \(self.nextStep)"
  }
}

extension VidiconError {
  /// Creates an error about a file or folder.
  ///
  /// - Parameter path: The path as its user gave it, who may have given an address or a password by mistake. The subject
  ///   is one line of at most 141 characters: newlines become spaces, and the middle of a path of more than 160 characters
  ///   is left out.
  package init(_ code: Code, path: String, cause: String, nextStep: String) {
    let line = String(path.pathWithoutCredentials().map { $0.isNewline ? " " : $0 })
    // Start and end together identify the file.
    let subject = line.count > 160 ? "\(line.prefix(100))…\(line.suffix(40))" : line
    self.init(code, subject: subject, cause: cause, nextStep: nextStep)
  }

  /// The error of a thread for `subject` that the system refused to start.
  package static func noThread(_ subject: String) -> VidiconError {
    VidiconError(
      .failed, subject: subject, cause: "no thread can be started",
      nextStep: "end other programs, or raise the limit of processes (ulimit -u)")
  }
}
