internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import RTMP

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// One line for the owner about the end of a connection, without address and stream key.
enum PushFailure {
  /// The line of an error of a channel, or of TLS.
  static func text(of error: any Error) -> String {
    switch error {
    case let error as NIOConnectionError:
      if let first = error.connectionErrors.first { return self.text(of: first.error) }
      return "the host name cannot be resolved"
    case is LinkLocalGuard.Refusal: return "its address is link-local, which only the owner may choose"
    case ChannelError.connectTimeout: return "the server does not respond"
    case let error as IOError: return String(cString: strerror(error.errnoCode)).lowercased()
    case let error as NIOSSLExtraError where error == .failedToValidateHostname:
      return "the certificate is for another host name"
    case let error as NIOSSLError:
      let text = "\(error)"
      if text.contains("CERTIFICATE_VERIFY_FAILED") { return "the certificate is not from a trusted authority" }
      if text.contains("WRONG_VERSION_NUMBER") { return "the server does not speak TLS at this port" }
      return "TLS cannot be set up"
    default: return "the connection has failed"
    }
  }

  /// The line of what a server has said.
  static func text(of failure: RTMPClientFailure) -> String {
    let detail = failure.code.isEmpty ? "" : " (\(failure.code))"
    switch failure.step {
    case .handshake: return "no RTMP server there: \(failure.description)"
    case .connect: return "the application is refused: \(failure.description)\(detail)"
    case .createStream: return "no stream is created: \(failure.description)\(detail)"
    case .request: return "the stream key is refused: \(failure.description)\(detail)"
    case .streaming: return "\(failure.description)\(detail)"
    }
  }
}
