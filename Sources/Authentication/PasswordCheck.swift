package import Media

/// A comparison of a password with a scrypt hash that a login needs, see ``AccessControl/passwordCheck(for:now:)``.
package struct PasswordCheck: Sendable {
  /// The state of a comparison that has waited.
  package enum Standing: Hashable, Sendable {
    /// The comparison has to be made.
    case needed
    /// The comparison's result is known.
    case done
    /// The client has to wait this long before its next attempt.
    case throttled(MediaDuration)
  }

  let password: Secret
  let hash: PasswordHash
  /// Name of the user.
  let user: String
  /// Numeric IP address of the client.
  package let address: String
  /// Password and hash under a key of the process: equal for equal comparisons.
  let mark: [UInt8]

  /// The client's network, see ``LoginThrottle/network(of:)``.
  var network: String { LoginThrottle.network(of: self.address) }

  /// Compares. Takes about 0.2 s and 16 MiB: never call it on an event loop.
  package func run() -> Bool {
    self.hash.verifies(Array(self.password.text.utf8))
  }
}
