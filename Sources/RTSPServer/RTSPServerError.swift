/// Why the server cannot listen.
public struct RTSPServerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  public enum Code: Hashable, Sendable {
    /// Another program listens on the port.
    case portTaken
    /// The system does not let this user have the port.
    case portNotPermitted
    /// The text is not a numeric IPv4 or IPv6 address.
    case malformedAddress
    /// The address is not one of this machine's.
    case invalidAddress
    /// A viewer's name or password is empty, or the name has a colon.
    case invalidCredential
    /// The certificate or its key cannot be used.
    case invalidCertificate
    /// Anything else that the system said.
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
