internal import Libc
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import RTMP
internal import WebRTC

/// One line for the owner about the end of a connection, without address and stream key.
enum PushFailure {
  /// The line of an error of a channel, or of TLS.
  static func text(of error: any Error) -> String {
    switch error {
    case let error as NIOConnectionError:
      if let first = error.connectionErrors.first { return self.text(of: first.error) }
      return "the host name cannot be resolved"
    case is LinkLocalGuard.Refusal: return "its address is link-local, which only the owner may choose"
    case ChannelError.connectTimeout, WHIPExchange.Failure.timeout: return "the server does not respond"
    case let error as IOError: return String(cString: strerror(error.errnoCode)).lowercased()
    case let error as NIOSSLExtraError where error == .failedToValidateHostname:
      return "the certificate is for another host name"
    // The connection of a server that was killed has no end of TLS.
    case NIOSSLError.uncleanShutdown: return "the server has closed the connection"
    case WHIPExchange.Failure.closed: return "the server has closed the connection"
    case WHIPExchange.Failure.tooLarge, is HTTPParserError: return "no WHIP server there"
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

  /// The line of an answer of WHIP that cannot be used.
  static func text(of refusal: WebRTCPublishOffer.Refusal) -> String {
    switch refusal {
    case .malformed: "the server's answer is no session description"
    case .nothingFits: "the server does not accept H.264, or Opus without video"
    case .noTransport: "the server's answer has no ICE credentials, or no fingerprint of SHA-2"
    }
  }

  /// The line of a session of WHIP that has ended.
  static func text(of reason: WebRTCTransport.CloseReason) -> String {
    switch reason {
    case .neverChecked, .setupTimedOut: "the server's UDP addresses do not respond"
    case .consentExpired: "the server does not respond any more"
    case .closedByClient, .closedByServer: "the server has ended the session"
    case .wrongFingerprint: "the certificate of DTLS is not that of the server's answer"
    case .dtlsFailed: "the DTLS handshake has failed"
    }
  }

  /// The line of a server's refusal.
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
