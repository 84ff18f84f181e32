/// Why a service cannot be announced, or a QR code cannot be made.
public struct DiscoveryError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  public enum Code: Hashable, Sendable {
    /// The system's DNS-SD service does not run, or has ended. It is tried again.
    case unavailable
    /// Every name that was tried is taken by another service.
    case nameTaken
    /// A key or value that a TXT record cannot hold.
    case invalidText
    /// No interface of this machine has the address.
    case unknownAddress
    /// More text than a QR code shall hold, or none.
    case textLength
    /// Anything else.
    case failed
  }

  /// What kind of failure it is.
  public var code: Code
  /// What happened, for a user to read.
  public var cause: String
  /// What the user can do about it.
  public var nextStep: String

  /// An error.
  public init(_ code: Code, cause: String, nextStep: String) {
    self.code = code
    self.cause = cause
    self.nextStep = nextStep
  }

  /// One line with cause and next step.
  public var description: String {
    "\(self.cause); \(self.nextStep)"
  }
}
