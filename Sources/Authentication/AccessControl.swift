internal import Cryptography
package import Media
internal import Synchronization

/// Decides which client may do what, for all protocols together: users, tokens, failed logins and nonces.
///
/// Pure but for its lock: time and randomness are arguments. Watching is open unless a viewer has a password or token;
/// changes need an operator, whatever the client's address, unless ``ControlPolicy`` says otherwise.
///
/// `CameraServer` has one for all its servers, which call it for each request, on any thread:
///
/// ```swift
/// let user = access.identify(request, covers: { _ in false }, now: now)
/// let decision = access.decide(.watch, for: user, isOnThisMachine: false)
/// ```
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
    /// Whether its token is that of ``AccessControl/makeConfigurationToken()``.
    package var mayConfigure = false
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
    /// Tokens that were made, valid until the server ends.
    var madeTokens: [AccessToken] = []
    /// The one of these tokens that gives the permission to configure; nil for none.
    var configurationToken: Secret?
    /// Users and tokens of the user file.
    var file = UserFile.empty
    /// Number of times that users have changed.
    var usersVersion = 0
    /// Whether the user file has had a viewer: watching stays protected when a later version has none, such as one that an
    /// editor has truncated.
    var hasHadViewers = false
    var throttle: LoginThrottle
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

  /// The rules, with the users and tokens of the start; those of the user file are not in them.
  public let settings: AccessSettings
  /// Number of refusals by reason.
  public let refusals: RefusalCounters
  /// Names under which HTTP requests are answered.
  package let hostPolicy: HostPolicy
  /// Web pages that may read media.
  package let originPolicy: OriginPolicy
  let authenticator: Authenticator
  let key: HMACKey
  private let makeRandom: @Sendable () -> UInt64
  let isOnOwnLink: @Sendable (IPAddress) -> Bool
  let report: @Sendable (AccessRefusal) -> Void
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
      report: { refusal in if let text = refusal.text { report(text) } })
  }

  /// - Parameters:
  ///   - settings: Users, tokens and rules.
  ///   - machineNames: Host names of this machine.
  ///   - makeRandom: Returns unpredictable numbers, for nonces and tokens.
  ///   - isOnOwnLink: Whether an IPv6 address is in a network of this machine's own, whose hosts are not of one owner.
  ///   - firstLoginDelay: Time for which the first failed login that is not free refuses further ones.
  ///   - report: Receives refusals for the owner, at most one a minute by network or host name.
  package init(
    settings: AccessSettings, machineNames: [String] = [], makeRandom: @escaping @Sendable () -> UInt64,
    isOnOwnLink: @escaping @Sendable (IPAddress) -> Bool, firstLoginDelay: MediaDuration = .seconds(1),
    report: @escaping @Sendable (AccessRefusal) -> Void = { _ in }
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
    self.key = HMACKey(bytes())
    self.makeRandom = makeRandom
    self.isOnOwnLink = isOnOwnLink
    self.report = report
    self.state = Mutex(
      State(
        users: settings.users, tokens: settings.tokens, throttle: LoginThrottle(firstDelay: firstLoginDelay)))
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
      state.usersVersion += 1
    }
  }

  /// Replaces the users and tokens of the settings; those of the user file, and tokens that were made, stay. Logins on the page end.
  ///
  /// Watching is open again where no viewer is among them, as after a start.
  package func setUsers(_ users: [Credentials], tokens: [AccessToken]) {
    self.state.withLock { state in
      (state.users, state.tokens) = (users, tokens)
      state.sessions = []
      state.usersVersion += 1
    }
  }

  /// Number of times that users have changed: what is given to them ends with it.
  package var usersVersion: Int {
    self.state.withLock { $0.usersVersion }
  }

  /// Makes a token that is valid until the server ends.
  public func makeToken(role: Role) -> Secret {
    let token = AccessToken(role: role, makeRandom: self.makeRandom)
    self.state.withLock { $0.madeTokens.append(token) }
    return token.secret
  }

  /// Makes a token that alone gives ``Permission/configure``, beside the operator role: an operator's password or token does not. Only
  /// the last one that was made gives it.
  package func makeConfigurationToken() -> Secret {
    let secret = self.makeToken(role: .operator)
    self.state.withLock { $0.configurationToken = secret }
    return secret
  }

  /// The token that was given or made for the publishers of a stream, for its operators; nil for none, and for those of the user file.
  package func publisherToken(of stream: String) -> Secret? {
    self.state.withLock { state in
      (state.tokens + state.madeTokens).first { $0.role == .publisher(stream: stream) }?.secret
    }
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
    var request = AccessRequest(method: "POST", address: address)
    request.refusedCheck = refusedCheck
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
    self.report(.foreignHost(name, count: count))
  }

  /// Counts a request of a web page of another site.
  package func refuseOrigin() {
    self.refusals.count(.badOrigin)
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
    self.tokens + self.madeTokens + self.file.tokens + self.sessions.filter { $0.expiry > now }.map(\.token)
  }

  /// The role of a token; nil for a wrong one.
  func role(ofToken text: String, now: MediaTime) -> Role? {
    // Every token is compared, so that the time does not depend on the position.
    var role: Role?
    for token in self.allTokens(now: now) where token.secret.matches(text.utf8) { role = token.role }
    return role
  }

  func isWatchingProtected(_ settings: AccessSettings) -> Bool {
    settings.protectsWatching || self.hasHadViewers || self.users.contains { $0.role == .viewer }
      || (self.tokens + self.madeTokens).contains { $0.role == .viewer }
  }
}

extension UserFile {
  /// Whether a user or a token has the viewer role.
  fileprivate var hasViewers: Bool {
    self.users.contains { $0.role == .viewer } || self.tokens.contains { $0.role == .viewer }
  }
}

/// Limits reports to one a minute by subject, with the number of events since the last one.
struct ReportLimiter {
  /// Minimum time between two reports on a subject.
  static let interval = MediaDuration.seconds(60)
  /// Maximum number of subjects; when full, those that were reported more than ``interval`` ago are dropped, else all.
  static let maximumSubjects = 1024

  private var entries: [String: (reported: MediaTime, pending: Int)] = [:]

  /// Counts an event.
  ///
  /// - Returns: The number of events to report; nil when the last report is too recent.
  mutating func count(_ subject: String, now: MediaTime) -> Int? {
    if let entry = self.entries[subject], now - entry.reported < Self.interval {
      self.entries[subject] = (entry.reported, entry.pending + 1)
      return nil
    }
    let pending = self.entries[subject]?.pending ?? 0
    if self.entries.count >= Self.maximumSubjects {
      self.entries = self.entries.filter { now - $0.value.reported < Self.interval }
      if self.entries.count >= Self.maximumSubjects { self.entries = [:] }
    }
    self.entries[subject] = (now, 0)
    return pending + 1
  }
}

/// Results of comparisons that are remembered: a bounded number of marks, the oldest of which is dropped for a further one.
struct RecentMarks {
  /// Maximum number of marks.
  static let maximumCount = 256

  private var marks: [[UInt8]] = []

  /// Whether a mark is remembered.
  func contains(_ mark: [UInt8]) -> Bool { self.marks.contains(mark) }

  /// Remembers a mark.
  mutating func insert(_ mark: [UInt8]) {
    guard !self.contains(mark) else { return }
    if self.marks.count >= Self.maximumCount { self.marks.removeFirst() }
    self.marks.append(mark)
  }
}
