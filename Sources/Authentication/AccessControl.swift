internal import Crypto
package import Media
internal import Synchronization

/// Decides which client may do what, for all protocols together: users, tokens, failed logins and nonces.
///
/// Pure but for its lock: time and randomness are arguments. Watching is open unless a viewer has a password or token;
/// changes need an operator, whatever the client's address, unless ``ControlPolicy`` says otherwise.
public final class AccessControl: Sendable {
  /// Result of the verification of a request's credentials.
  package enum Identification: Hashable {
    /// The request has no credentials.
    case anonymous
    /// The credentials are valid.
    case identified(Identity)
    /// The credentials are wrong; `stale` when only the nonce cannot be used again.
    case rejected(stale: Bool)
    /// Too many failures; attempts are allowed again after this time.
    case throttled(MediaDuration)
  }

  /// A client with valid credentials.
  package struct Identity: Hashable {
    /// The role of its user or token.
    package var role: Role
    /// The Digest nonce of the proof; nil with other schemes.
    package var nonce: String?
  }

  /// Answer to a client's request for a permission.
  package enum Decision: Hashable {
    /// The client may; with its role.
    case allowed(Role)
    /// Credentials are needed; `stale` when the same user can try again at once.
    case unauthorized(stale: Bool)
    /// Too many failures; attempts are allowed again after this time.
    case throttled(MediaDuration)
    /// The client's role does not suffice.
    case forbidden
  }

  /// Result of a login with name and password on the page.
  package enum LoginResult: Hashable {
    /// A token for the session, and its role.
    case token(Secret, Role)
    /// Name or password are wrong.
    case rejected
    /// Too many failures; attempts are allowed again after this time.
    case throttled(MediaDuration)
  }

  struct State {
    var users: [Credentials]
    var tokens: [AccessToken]
    /// Users and tokens of the user file.
    var file = UserFile.empty
    /// Whether the user file has had a viewer: watching stays protected when a later version has none, such as one that an
    /// editor has truncated.
    var hasHadViewers = false
    var throttle = LoginThrottle()
    var nonces = NonceCounts()
    /// Logins on the page, oldest first.
    var sessions: [(token: AccessToken, user: String, expiry: MediaTime)] = []
    /// Marks of comparisons with scrypt hashes that were right.
    var rightPasswords = RecentMarks()
    /// Marks of comparisons that were wrong, so that a program with an old password costs one comparison.
    var wrongPasswords = RecentMarks()
    var reports = ReportLimiter()
  }

  /// Maximum number of logins on the page; a further one ends the oldest of those of other roles than operator, if any.
  private static let maximumSessions = 256
  /// Maximum number of logins of a user, so that a viewer does not end those of operators.
  private static let maximumSessionsOfUser = 32
  /// Maximum duration of a login on the page.
  private static let sessionLifetime = MediaDuration.seconds(12 * 3600)

  /// The rules; users and tokens of the user file are not in them.
  public let settings: AccessSettings
  /// Number of refusals by reason.
  public let refusals: RefusalCounters
  /// Names under which HTTP requests are answered.
  package let hostPolicy: HostPolicy
  /// Web pages that may read media.
  package let originPolicy: OriginPolicy
  let authenticator: Authenticator
  private let key: SymmetricKey
  private let makeRandom: @Sendable () -> UInt64
  private let isOnOwnLink: @Sendable (IPAddress) -> Bool
  private let report: @Sendable (String) -> Void
  let state: Mutex<State>

  /// - Parameters:
  ///   - settings: Users, tokens and rules.
  ///   - machineNames: Host names of this machine.
  ///   - makeRandom: Returns unpredictable numbers, for nonces and tokens.
  ///   - report: Receives lines about refusals for the owner, at most one a minute by address or host name.
  public convenience init(
    settings: AccessSettings, machineNames: [String] = [], makeRandom: @escaping @Sendable () -> UInt64,
    report: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.init(
      settings: settings, machineNames: machineNames, makeRandom: makeRandom, isOnOwnLink: { _ in false },
      report: report)
  }

  /// - Parameters:
  ///   - settings: Users, tokens and rules.
  ///   - machineNames: Host names of this machine.
  ///   - makeRandom: Returns unpredictable numbers, for nonces and tokens.
  ///   - isOnOwnLink: Whether an IPv6 address is in a network of this machine's own, whose hosts are not of one owner.
  ///   - report: Receives lines about refusals for the owner, at most one a minute by address or host name.
  package init(
    settings: AccessSettings, machineNames: [String] = [], makeRandom: @escaping @Sendable () -> UInt64,
    isOnOwnLink: @escaping @Sendable (IPAddress) -> Bool, report: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    func bytes() -> [UInt8] {
      (0..<4).flatMap { _ in
        let word = makeRandom()
        return (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
      }
    }
    self.settings = settings
    self.refusals = RefusalCounters()
    self.hostPolicy = HostPolicy(names: settings.hosts + machineNames)
    self.originPolicy = OriginPolicy(origins: settings.corsOrigins)
    self.authenticator = Authenticator(secret: bytes())
    self.key = SymmetricKey(data: bytes())
    self.makeRandom = makeRandom
    self.isOnOwnLink = isOnOwnLink
    self.report = report
    self.state = Mutex(State(users: settings.users, tokens: settings.tokens))
  }
}

// MARK: Users and tokens

extension AccessControl {
  /// Replaces the users and tokens of the user file. Logins on the page end.
  public func setUserFile(_ file: UserFile) {
    self.state.withLock { state in
      state.hasHadViewers = state.hasHadViewers || file.hasViewers
      state.file = file
      state.sessions = []
    }
  }

  /// Makes a token that is valid until the server ends.
  public func makeToken(role: Role) -> Secret {
    let token = AccessToken(role: role, makeRandom: self.makeRandom)
    self.state.withLock { $0.tokens.append(token) }
    return token.secret
  }

  /// Whether watching needs a password or token.
  public var isWatchingProtected: Bool {
    self.state.withLock { $0.isWatchingProtected(self.settings) }
  }

  /// Verifies a name and a password, and begins a session.
  ///
  /// - Parameter refusedCheck: As ``AccessRequest/refusedCheck``.
  /// - Returns: A token for the session, ended by ``endSession(_:)`` or after 12 hours.
  package func login(
    user: String, password: Secret, address: String, refusedCheck: MediaDuration? = nil, now: MediaTime
  ) -> LoginResult {
    let proof = Authorization.basic(user: Array(user.utf8), password: Array(password.text.utf8))
    let request = AccessRequest(method: "POST", address: address, refusedCheck: refusedCheck)
    switch self.identify(proof, request, covers: { _ in false }, now: now) {
    case .identified(let identity):
      let token = AccessToken(role: identity.role, makeRandom: self.makeRandom)
      self.state.withLock { state in
        state.sessions.removeAll { $0.expiry <= now }
        let own = state.sessions.indices.filter { state.sessions[$0].user == user }
        if own.count >= Self.maximumSessionsOfUser {
          state.sessions.remove(at: own[0])
        } else if state.sessions.count >= Self.maximumSessions {
          state.sessions.remove(at: state.sessions.firstIndex { $0.token.role != .operator } ?? 0)
        }
        state.sessions.append((token, user, now + Self.sessionLifetime))
      }
      return .token(token.secret, identity.role)
    case .throttled(let delay): return .throttled(delay)
    case .anonymous, .rejected: return .rejected
    }
  }

  /// Ends the session of a login on the page; without effect for other tokens.
  package func endSession(_ token: String) {
    self.state.withLock { $0.sessions.removeAll { $0.token.secret.matches(token.utf8) } }
  }
}

// MARK: Decisions

extension AccessControl {
  /// Verifies the credentials of a request.
  ///
  /// - Parameter covers: Whether a Digest proof for this URI is valid for the requested resource.
  package func identify(_ request: AccessRequest, covers: (_ uri: String) -> Bool, now: MediaTime) -> Identification {
    // Several lines are not allowed, RFC 7235 §4.2, and ambiguous.
    guard request.authorization.count <= 1 else { return self.rejectMalformed() }
    if let value = request.authorization.first {
      guard let proof = Authorization(parsing: value) else { return self.rejectMalformed() }
      return self.identify(proof, request, covers: covers, now: now)
    }
    guard let token = request.token, !token.isEmpty else { return .anonymous }
    // Counted apart from `Bearer`: any page can make a browser request an address, but not send a field.
    let name = request.isCrossSite ? "token of an address on another site" : "token of an address"
    return self.identify(.bearer(token), named: name, request, covers: covers, now: now)
  }

  /// - Parameter name: Name under which failures are counted; nil for that of the credentials.
  private func identify(
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
    let result = self.state.withLock { state -> (Identification, report: String?) in
      let level = proof.isToken ? .any : state.level(ofUser: name)
      if let delay = state.throttle.delay(address: request.address, name: name, level: level, now: now) {
        self.refusals.count(.throttled)
        return (.throttled(delay), nil)
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
        return (result, count.map { "\(request.address): wrong password or token\($0 > 1 ? " (\($0) times)" : "")" })
      case .anonymous, .rejected, .throttled: break
      }
      return (result, nil)
    }
    if let line = result.report { self.report(line) }
    return result.0
  }

  private func rejectMalformed() -> Identification {
    self.refusals.count(.malformed)
    return .rejected(stale: false)
  }

  /// Counts a password that was sent in the clear. It is not compared, so that it is no guess.
  private func rejectInsecureBasic(_ request: AccessRequest, now: MediaTime) -> Identification {
    self.refusals.count(.failedLogin)
    let subject = "basic \(LoginThrottle.network(of: request.address))"
    if let count = self.state.withLock({ $0.reports.count(subject, now: now) }) {
      self.report(
        "\(request.address): a password was sent over HTTP without TLS\(count > 1 ? " (\(count) times)" : ""), and not "
          + "accepted; use HTTPS, or allow it with --insecure-basic")
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
    case .bearer(let text):
      // Every token is compared, so that the time does not depend on the position.
      var role: Role?
      for token in state.allTokens(now: now) where token.secret.matches(text.utf8) { role = token.role }
      return role.map { .identified(Identity(role: $0)) } ?? .rejected(stale: false)
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

  /// Decides on a permission.
  package func decide(
    _ permission: Permission, for identification: Identification, isOnThisMachine: Bool
  ) -> Decision {
    // The client's user can continue at once; a lesser role would hide that.
    if identification == .rejected(stale: true) { return .unauthorized(stale: true) }
    let role = self.role(of: identification, isOnThisMachine: isOnThisMachine)
    let isAllowed =
      switch (permission, role) {
      case (_, nil): false
      case (.watch, .publisher): !self.isWatchingProtected
      case (.watch, _): true
      case (.control, let role):
        self.settings.control != .none && (role == .operator || self.settings.control == .all && role == .viewer)
      case (.readRecordings, let role):
        role == .operator
          || role == .viewer && (self.settings.recordings == .viewers || self.settings.control == .all)
      case (.publish(let stream), let role): role == .publisher(stream: stream) || role == .operator
      }
    if isAllowed, let role { return .allowed(role) }
    if permission == .control, self.settings.control == .none { return self.forbidden }
    switch identification {
    case .identified: return self.forbidden
    case .throttled(let delay): return .throttled(delay)
    case .anonymous, .rejected:
      if role != nil { self.refusals.count(.forbidden) }
      return .unauthorized(stale: false)
    }
  }

  private var forbidden: Decision {
    self.refusals.count(.forbidden)
    return .forbidden
  }

  /// The role of a client; nil for a client that may not even watch.
  package func role(of identification: Identification, isOnThisMachine: Bool) -> Role? {
    let role: Role?
    if case .identified(let identity) = identification {
      role = identity.role
    } else {
      role = self.isWatchingProtected ? nil : .viewer
    }
    // With ``ControlPolicy/all`` a viewer elsewhere controls too, but stays one: its sources are limited.
    let trustsThisMachine = self.settings.control == .machine || self.settings.control == .all
    return role == .viewer && isOnThisMachine && trustsThisMachine ? .operator : role
  }

  /// The values of the `WWW-Authenticate` lines of a response with status 401, in their order.
  ///
  /// - Parameters:
  ///   - permission: The permission that was refused.
  ///   - stale: Whether the same user can try again at once.
  package func challenges(
    for permission: Permission, stale: Bool, address: String, allowsBasic: Bool, now: MediaTime
  ) -> [String] {
    let (users, hasTokens) = self.state.withLock { state in
      (
        state.allUsers.filter { self.settings.suffices($0.role, for: permission) },
        !state.sessions.isEmpty
          || state.allTokens(now: now).contains { self.settings.suffices($0.role, for: permission) }
      )
    }
    var challenges: [String] = []
    if users.contains(where: { $0.clearPassword != nil }) {
      challenges += self.authenticator.digestChallenges(stale: stale, address: address, now: now)
    }
    if !users.isEmpty, allowsBasic { challenges.append(self.authenticator.basicChallenge) }
    // Players know passwords only; behind them, for programs that control.
    if challenges.isEmpty || (hasTokens && permission != .watch) {
      challenges.append("Bearer realm=\"\(self.authenticator.realm)\"")
    }
    return challenges
  }
}

extension AccessControl {
  /// Password and hash under a key of this process.
  func mark(of comparison: HashComparison) -> [UInt8] {
    let bytes = Array("\(comparison.hash.text)\0".utf8) + Array(comparison.password.text.utf8)
    return Array(HMAC<SHA256>.authenticationCode(for: bytes, using: self.key))
  }
}

// MARK: Hosts and origins

extension AccessControl {
  /// Counts a request for a host name that is not this server's.
  package func refuseHost(_ host: String, now: MediaTime) {
    self.refusals.count(.badHost)
    // A client's text in the owner's terminal: the characters of a host and port only.
    let shown = host.prefix(100).unicodeScalars.map { scalar -> Character in
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", ".", "-", "_", ":", "[", "]", "@": Character(scalar)
      default: "_"
      }
    }
    let name = String(shown).withoutCredentials()
    guard let count = self.state.withLock({ $0.reports.count("host", now: now) }) else { return }
    self.report(
      "refused \(count > 1 ? "\(count) requests, the last one " : "a request ")for the host \"\(name)\", "
        + "which is not a name of this server; allow it with --host")
  }

  /// Counts a request of a web page of another site.
  package func refuseOrigin() {
    self.refusals.count(.badOrigin)
  }
}

extension AccessSettings {
  /// Whether a role suffices for a permission.
  fileprivate func suffices(_ role: Role, for permission: Permission) -> Bool {
    switch permission {
    case .watch: role == .viewer || role == .operator
    case .control: role == .operator || self.control == .all && role == .viewer
    case .readRecordings:
      role == .operator || role == .viewer && (self.recordings == .viewers || self.control == .all)
    case .publish(let stream): role == .operator || role == .publisher(stream: stream)
    }
  }
}

extension AccessControl.State {
  var allUsers: [Credentials] {
    let own = Set(self.users.map(\.user))
    return self.users + self.file.users.filter { !own.contains($0.user) }
  }

  /// The logins that exempt a name from delays: for an operator's, and for one that does not exist, an operator's only.
  func level(ofUser name: String) -> LoginThrottle.Level {
    self.allUsers.contains { $0.user == name && $0.role != .operator } ? .any : .operator
  }

  func allTokens(now: MediaTime) -> [AccessToken] {
    self.tokens + self.file.tokens + self.sessions.filter { $0.expiry > now }.map(\.token)
  }

  func isWatchingProtected(_ settings: AccessSettings) -> Bool {
    settings.protectsWatching || self.hasHadViewers || self.users.contains { $0.role == .viewer }
      || self.tokens.contains { $0.role == .viewer }
  }
}

extension UserFile {
  /// Whether a user or a token has the viewer role.
  fileprivate var hasViewers: Bool {
    self.users.contains { $0.role == .viewer } || self.tokens.contains { $0.role == .viewer }
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
