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
}
