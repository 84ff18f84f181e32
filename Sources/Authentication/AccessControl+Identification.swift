internal import Cryptography
package import Media
internal import Synchronization

extension AccessControl {
  /// Verifies the credentials of a request.
  ///
  /// - Parameter covers: Whether a Digest proof for this URI is valid for the requested resource.
  package func identify(_ request: AccessRequest, covers: (_ uri: String) -> Bool, now: MediaTime) -> Identification {
    switch request.proof {
    case .malformed: return self.rejectMalformed()
    case .given(let proof): return self.identify(proof, request, covers: covers, now: now)
    case .none: break
    }
    guard let token = request.token, !token.isEmpty else { return .anonymous }
    // Counted apart from `Bearer`: any page can make a browser request an address, but not send a field.
    let name = request.isCrossSite ? "token of an address on another site" : "token of an address"
    return self.identify(.bearer(token), named: name, request, covers: covers, now: now)
  }

  /// - Parameter name: Name under which failures are counted; nil for that of the credentials.
  func identify(
    _ proof: Authorization, named name: String? = nil, _ request: AccessRequest, covers: (_ uri: String) -> Bool,
    now: MediaTime
  ) -> Identification {
    if case .basic = proof, !request.allowsBasic { return self.rejectInsecureBasic(request, now: now) }
    if let delay = request.refusedCheck {
      self.refusals.count(.throttled)
      return .throttled(delay)
    }
    let name = name ?? proof.name
    let isShared = self.isShared(request.address)
    let result = self.state.withLock { state -> (Identification, report: AccessRefusal?) in
      // A right token is never slowed: it is too long to be guessed, and others of the network, or pages that send wrong
      // ones, would lock its owner out.
      if case .bearer(let text) = proof, let role = state.role(ofToken: text, now: now) {
        state.throttle.recordLogin(
          address: request.address, level: role == .operator ? .operator : .any, isNetworkShared: isShared, now: now)
        let mayConfigure = state.configurationToken?.matches(text.utf8) == true
        return (.identified(Identity(role: role, mayConfigure: mayConfigure)), nil)
      }
      let level = proof.isToken ? .any : state.level(ofUser: name)
      if let delay = state.throttle.delay(address: request.address, name: name, level: level, now: now) {
        self.refusals.count(.throttled)
        let isReported = state.reports.count("delay \(LoginThrottle.network(of: request.address))", now: now) != nil
        return (.throttled(delay), isReported ? AccessRefusal.throttled(address: request.address, delay) : nil)
      }
      let result = self.verify(proof, request, covers: covers, now: now, state: &state)
      switch result {
      case .identified(let identity):
        state.throttle.recordLogin(
          address: request.address, level: identity.role == .operator ? .operator : .any, isNetworkShared: isShared,
          now: now)
      case .rejected(stale: false):
        self.refusals.count(.failedLogin)
        state.throttle.recordFailure(address: request.address, name: name, level: level, now: now)
        let count = state.reports.count("login \(LoginThrottle.network(of: request.address))", now: now)
        return (result, count.map { AccessRefusal.wrongCredentials(address: request.address, count: $0) })
      case .anonymous, .rejected, .throttled: break
      }
      return (result, nil)
    }
    if let refusal = result.report { self.report(refusal) }
    return result.0
  }

  private func rejectMalformed() -> Identification {
    self.refusals.count(.malformed)
    return .rejected(stale: false)
  }

  /// Counts and reports a password that was sent without encryption. The password is not compared, so that the response does
  /// not reveal whether it is right.
  private func rejectInsecureBasic(_ request: AccessRequest, now: MediaTime) -> Identification {
    self.refusals.count(.failedLogin)
    let subject = "basic \(LoginThrottle.network(of: request.address))"
    if let count = self.state.withLock({ $0.reports.count(subject, now: now) }) {
      self.report(.passwordWithoutTLS(address: request.address, count: count))
    }
    return .rejected(stale: false)
  }

  /// Whether the network of an address, as far as logins are concerned, has hosts of different owners.
  private func isShared(_ address: String) -> Bool {
    guard let address = IPAddress(parsing: address), address != address.network else { return false }
    return address.isLinkLocal || self.isOnOwnLink(address)
  }

  private func verify(
    _ proof: Authorization, _ request: AccessRequest, covers: (_ uri: String) -> Bool, now: MediaTime,
    state: inout State
  ) -> Identification {
    switch proof {
    case .bearer: return .rejected(stale: false)
    case .basic(let user, let password):
      let verdict = self.authenticator.verify(user: user, password: password, of: state.allUsers) { comparison in
        state.rightPasswords.contains(self.mark(of: comparison))
      }
      guard case .accepted(let acceptance) = verdict else { return .rejected(stale: false) }
      return .identified(Identity(role: acceptance.user.role))
    case .digest(let digest):
      let verdict = self.authenticator.verify(
        digest, of: state.allUsers, method: request.method, address: request.address, covers: covers,
        enteredWith: request.connectionNonce, now: now)
      switch verdict {
      case .accepted(let acceptance):
        if request.changesState, let nonce = acceptance.nonce {
          let expiry = now - self.authenticator.nonceLifetime
          guard state.nonces.use(nonce.count, of: nonce.text, created: nonce.created, expiry: expiry) else {
            return .rejected(stale: true)
          }
        }
        return .identified(Identity(role: acceptance.user.role, nonce: acceptance.nonce?.text))
      case .rejected(let stale): return .rejected(stale: stale)
      case .unverified: return .rejected(stale: false)
      }
    }
  }

  /// Password and hash under a key of this process.
  func mark(of comparison: HashComparison) -> [UInt8] {
    let bytes = Array("\(comparison.hash.text)\0".utf8) + Array(comparison.password.text.utf8)
    return self.key.code(of: bytes, .sha256)
  }
}

extension Authorization {
  fileprivate var isToken: Bool {
    if case .bearer = self { true } else { false }
  }

  /// The name under which failures are counted.
  fileprivate var name: String {
    switch self {
    case .basic(let user, _): String(decoding: user, as: UTF8.self)
    case .digest(let digest): digest.user
    case .bearer: "token"
    }
  }
}
