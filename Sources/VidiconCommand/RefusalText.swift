import Authentication

/// The refusals of a server in words, for the status on a terminal.
enum RefusalText {
  /// A status line such as "refused: 3 failed logins, 1 foreign Host", most frequent reasons first; nil when nothing
  /// was refused.
  static func line(_ refusals: [RefusalReason: Int]) -> String? {
    let parts = refusals.filter { $0.value > 0 }
      .sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
      .map { "\($0.value) \(self.text(of: $0.key))" }
    return parts.isEmpty ? nil : "refused: " + parts.joined(separator: ", ")
  }

  private static func text(of reason: RefusalReason) -> String {
    switch reason {
    case .badHost: "foreign Host"
    case .badOrigin: "foreign Origin"
    case .failedLogin: "failed login"
    case .unauthorized: "without login"
    case .throttled: "throttled login"
    case .forbidden: "without permission"
    case .overLimit: "over a limit"
    case .malformed: "malformed"
    case .sessionNotFound: "RTSP 454"
    case .methodNotValid: "RTSP 455"
    case .unsupportedTransport: "RTSP 461"
    case .tlsFailure: "TLS failure"
    case .datagramDropped: "datagram dropped"
    case .slowViewer: "slow viewer"
    }
  }
}
