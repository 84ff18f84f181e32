/// Why a net that finds faces cannot be used.
public struct FaceModelError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  public enum Code: Hashable, Sendable {
    /// There is no such file.
    case notFound
    /// The file is there, but cannot be read.
    case notReadable
    /// The file is no net, or another one than its name says.
    case invalidData
  }

  /// What kind of failure it is.
  public var code: Code
  /// The file.
  public var path: String
  /// What happened, for a user to read: no capital at the start, no full stop at the end.
  public var cause: String

  /// An error.
  public init(_ code: Code, path: String, cause: String) {
    self.code = code
    self.path = path
    self.cause = cause
  }

  /// What the user can do about it.
  public var nextStep: String { "run scripts/setup, or set VIDICON_MODELS to the folder of the nets" }

  /// One line with file, cause and next step.
  public var description: String { "\(self.path): \(self.cause); \(self.nextStep)" }
}
