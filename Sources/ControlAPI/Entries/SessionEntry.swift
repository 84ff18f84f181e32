/// Response of `/api/session`.
package struct SessionEntry: Codable, Hashable, Sendable {
  /// Role of the client; nil for a client without the viewer role.
  package var role: String?
  /// Whether the client may change streams.
  package var steerable: Bool
  /// Name of the ``LoginMethod``.
  package var login: String
  /// Token of the session that a login has opened.
  package var token: String?

  /// Describes the rights of a client.
  package init(role: String?, steerable: Bool, login: LoginMethod, token: String? = nil) {
    self.role = role
    self.steerable = steerable
    self.login = login.rawValue
    self.token = token
  }
}

/// Methods by which a client can log in to control.
package enum LoginMethod: String, Hashable, Sendable, CaseIterable {
  /// With an operator's password, or a token.
  case password
  /// With a token: a password would be sent without encryption.
  case token
  /// No login, since control is off.
  case none
}
