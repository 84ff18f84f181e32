internal import Serving
internal import WebRTC

extension WebRTCSessionFailure {
  /// Nil for an end that either side has chosen.
  init?(_ reason: WebRTCTransport.CloseReason) {
    switch reason {
    case .neverChecked: self = .neverChecked
    case .setupTimedOut: self = .setupTimedOut
    case .consentExpired: self = .consentExpired
    case .wrongFingerprint: self = .wrongFingerprint
    case .dtlsFailed: self = .dtlsFailed
    case .closedByClient, .closedByServer: return nil
    }
  }

  /// The cause, for the owner.
  var text: String {
    switch self {
    case .neverChecked: "a viewer did not reach this machine"
    case .setupTimedOut: "a viewer did not finish its connection within 30 s"
    case .consentExpired: "a viewer fell silent before its connection was made"
    case .wrongFingerprint: "a viewer has another certificate than it offered"
    case .dtlsFailed: "the DTLS handshake with a viewer failed"
    }
  }
}
