package import Media

/// A refusal that the owner is informed of, at most once a minute by network or host name; has no password and no token.
package enum AccessRefusal: Hashable, Sendable {
  /// A password or token was wrong, this number of times since the last report.
  case wrongCredentials(address: String, count: Int)
  /// A password was sent in plain text where that is not accepted, this number of times since the last report.
  case passwordWithoutTLS(address: String, count: Int)
  /// After too many wrong passwords, attempts are refused for this time.
  case throttled(address: String, MediaDuration)
  /// A request had the name of another host, this number of times since the last report.
  case foreignHost(String, count: Int)

  /// A line for the owner; nil for a consequence of what another line has said.
  package var text: String? {
    switch self {
    case .wrongCredentials(let address, let count):
      "\(address): wrong password or token\(count > 1 ? " (\(count) times)" : "")"
    case .passwordWithoutTLS(let address, let count):
      "\(address): a password was sent without TLS\(count > 1 ? " (\(count) times)" : ""), and not "
        + "accepted; use TLS, or allow it with --insecure-basic"
    case .throttled: nil
    case .foreignHost(let name, let count):
      "refused \(count > 1 ? "\(count) requests, the last one " : "a request ")for the host \"\(name)\", "
        + "which is not a name of this server; allow it with --host"
    }
  }
}
