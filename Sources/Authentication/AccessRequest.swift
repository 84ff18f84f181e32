package import Media

/// The parts of a request that decide on its access.
package struct AccessRequest {
  /// Credentials as they were sent.
  package enum Proof: Hashable {
    case none
    /// Several `Authorization` lines, which RFC 7235 §4.2 does not allow and which are ambiguous, or one that cannot be parsed.
    case malformed
    case given(Authorization)

    /// The proof of the values of the `Authorization` lines.
    fileprivate init(of values: [String]) {
      guard let first = values.first else {
        self = .none
        return
      }
      self = values.count == 1 ? Authorization(parsing: first).map { .given($0) } ?? .malformed : .malformed
    }
  }

  /// Method of the request in its protocol, such as `GET` or `DESCRIBE`; Digest responses depend on it.
  package var method: String
  /// The client's credentials, without ``token``.
  package let proof: Proof
  /// A token in the query of the URL; nil without one.
  package var token: String?
  /// The client's numeric address; an IPv4 address in its IPv6 form is IPv4.
  package var address: String
  /// Whether the request comes from a program on this machine, on its own behalf.
  package var isOnThisMachine: Bool
  /// Whether Basic is offered and accepted.
  package var allowsBasic: Bool
  /// Whether a repetition of the request would change something.
  package var changesState: Bool
  /// The Digest nonce that the connection has authenticated with, which does not expire.
  package var connectionNonce: String?
  /// Whether a browser sends the request for a page of another site. Its tokens in URLs are counted apart: such a page can
  /// make its visitor's browser send wrong ones.
  package var isCrossSite: Bool
  /// Time after which the client can try again when the comparison with a hash that the request needs was refused; nil
  /// when it was made, or the request needs none.
  package var refusedCheck: MediaDuration?

  /// Creates the request of a client whose name and password are in no header, such as those of RTMP.
  package init(method: String, user: String, password: Secret, address: String, isEncrypted: Bool) {
    self.init(
      method: method, proof: .given(.basic(user: Array(user.utf8), password: Array(password.text.utf8))),
      address: address, allowsBasic: isEncrypted)
  }

  /// Creates the request to judge from the credentials and the address of a client.
  ///
  /// - Parameter authorization: The values of the `Authorization` lines.
  package init(
    method: String, authorization: [String] = [], token: String? = nil, address: String, isOnThisMachine: Bool = false,
    allowsBasic: Bool = true, changesState: Bool = false, connectionNonce: String? = nil, isCrossSite: Bool = false
  ) {
    self.init(
      method: method, proof: Proof(of: authorization), token: token, address: address,
      isOnThisMachine: isOnThisMachine, allowsBasic: allowsBasic, changesState: changesState,
      connectionNonce: connectionNonce, isCrossSite: isCrossSite)
  }

  private init(
    method: String, proof: Proof, token: String? = nil, address: String, isOnThisMachine: Bool = false,
    allowsBasic: Bool, changesState: Bool = false, connectionNonce: String? = nil, isCrossSite: Bool = false
  ) {
    self.method = method
    self.proof = proof
    self.token = token
    self.address = IPAddress.plainText(address)
    self.isOnThisMachine = isOnThisMachine
    self.allowsBasic = allowsBasic
    self.changesState = changesState
    self.connectionNonce = connectionNonce
    self.isCrossSite = isCrossSite
  }
}
