internal import WebRTC

/// Reasons why a session ended before media could flow.
public enum WebRTCSessionFailure: String, Hashable, Sendable, CaseIterable {
  /// No check arrived: the client does not reach the addresses that it was given.
  case neverChecked = "never_checked"
  /// Checks arrived, but the connection was not made within 30 s.
  case setupTimedOut = "setup_timed_out"
  /// The client fell silent.
  case consentExpired = "consent_expired"
  /// The certificate is not one that the offer names.
  case wrongFingerprint = "wrong_fingerprint"
  /// DTLS failed, or agreed on no SRTP profile.
  case dtlsFailed = "dtls_failed"

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
