internal import Libc
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// The end of a connection of a push: one line for the owner, without address and stream key.
package struct PushFailure: Error {
  /// Line for the owner, without a period.
  private let text: String

  /// Creates a failure of a protocol from its line.
  package init(_ text: String) {
    self.text = text
  }

  /// The line of an error of a channel, or of TLS.
  package static func text(of error: any Error) -> String {
    switch error {
    case let failure as PushFailure: return failure.text
    case let error as NIOConnectionError:
      if let first = error.connectionErrors.first { return self.text(of: first.error) }
      return "the host name cannot be resolved"
    case ChannelError.connectTimeout: return "the server does not respond"
    case let error as IOError: return String(cString: strerror(error.errnoCode)).lowercased()
    case let error as NIOSSLExtraError where error == .failedToValidateHostname:
      return "the certificate is for another host name"
    // The connection of a server that was killed has no end of TLS.
    case NIOSSLError.uncleanShutdown: return "the server has closed the connection"
    case let error as NIOSSLError:
      let text = "\(error)"
      if text.contains("CERTIFICATE_VERIFY_FAILED") {
        return "the certificate is not from a trusted authority, or has expired"
      }
      if text.contains("WRONG_VERSION_NUMBER") { return "the server does not speak TLS at this port" }
      return "TLS cannot be set up"
    default: return "the connection has failed"
    }
  }
}
