internal import NIOCore

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Why the server cannot listen.
public struct HTTPServerError: Error, Hashable, Sendable, CustomStringConvertible {
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
    /// The certificate or its key cannot be used, made or kept.
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

extension HTTPServerError {
  /// What kept a port from being opened.
  init(_ error: any Error, address: String?, port: Int) {
    let number = (error as? IOError)?.errnoCode
    let place = address.map { "port \(port) of \($0)" } ?? "port \(port)"
    switch number {
    case EADDRINUSE:
      self.init(
        .portTaken, cause: "\(place) is taken by another program",
        nextStep: "choose another port with --http-port or --https-port; 0 takes any free one")
    case EACCES:
      self.init(
        .portNotPermitted, cause: "\(place) is not open to this user",
        nextStep: "choose a port from 1024 on, such as 8080")
    case EADDRNOTAVAIL:
      self.init(
        .invalidAddress, cause: "\(address ?? "the address") is not an address of this machine",
        nextStep: "leave --bind away to listen on all of them")
    default:
      let reason = number.map { String(cString: strerror($0)) } ?? "\(error)"
      self.init(.failed, cause: "\(place) cannot be opened (\(reason))", nextStep: "check the address and the port")
    }
  }
}
