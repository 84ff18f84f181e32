package import Authentication

/// The client of a request as far as access is concerned.
package struct HTTPUser: Sendable {
  /// Result of the verification of its credentials.
  package var identification: AccessControl.Identification
  /// Role of the client; nil for a client without the viewer role.
  package var role: Role?
  /// Address of the client, behind a known proxy the forwarded one.
  package var address: String
  /// Whether it is a program on this machine, on its own behalf.
  package var isOnThisMachine: Bool
  /// Whether passwords in plain text are accepted: Basic, and logins of the page.
  package var allowsBasic: Bool

  /// Creates the user of a request whose credentials are verified.
  package init(
    identification: AccessControl.Identification, role: Role?, address: String, isOnThisMachine: Bool, allowsBasic: Bool
  ) {
    self.identification = identification
    self.role = role
    self.address = address
    self.isOnThisMachine = isOnThisMachine
    self.allowsBasic = allowsBasic
  }

  /// A client without credentials on another machine.
  package static func anonymous(at address: String) -> HTTPUser {
    HTTPUser(
      identification: .anonymous, role: nil, address: address, isOnThisMachine: false, allowsBasic: false)
  }

  /// Network of the client, of which limits have shares.
  package var network: String { IPAddress(parsing: self.address).map { "\($0.network)" } ?? self.address }
}
