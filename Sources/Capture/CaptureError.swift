/// Why a source cannot be opened, or ended.
public struct CaptureError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  public enum Code: Hashable, Sendable {
    /// The text that names a source is not one.
    case invalidSpecification
    /// There is no such file or device.
    case notFound
    /// It exists, but may not be opened.
    case notPermitted
    /// It was opened, but what it holds cannot be used.
    case invalidData
    /// It holds no picture, or no sound, where that was asked for.
    case missingTrack
    /// It worked and then failed.
    case failed
  }

  /// What kind of failure it is.
  public var code: Code
  /// The source, as its user names it.
  public var source: String
  /// What happened, for a user to read: no capital at the start, no full stop at the end.
  public var cause: String
  /// What the user can do about it.
  public var nextStep: String

  /// An error.
  public init(_ code: Code, source: String, cause: String, nextStep: String) {
    self.code = code
    self.source = source
    self.cause = cause
    self.nextStep = nextStep
  }

  /// One line with source, cause and next step.
  public var description: String {
    "\(self.source): \(self.cause); \(self.nextStep)"
  }
}
