internal import Serving
internal import WebRTC

extension PushFailure {
  /// The line of an answer of WHIP that cannot be used.
  static func text(of refusal: WebRTCPushOffer.Refusal) -> String {
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
}
