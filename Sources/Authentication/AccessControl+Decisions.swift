package import Media
internal import Synchronization

extension AccessControl {
  /// Decides whether the role of an identified client includes a permission, and counts refusals.
  package func decide(
    _ permission: Permission, for identification: Identification, isOnThisMachine: Bool
  ) -> Decision {
    // The client's user can continue at once; a lesser role would hide that.
    if identification == .rejected(stale: true) {
      self.refusals.count(.unauthorized)
      return .unauthorized(stale: true)
    }
    let role = self.role(of: identification, isOnThisMachine: isOnThisMachine)
    if permission == .control, self.settings.control == .none { return self.forbidden }
    if let role, self.settings.suffices(role, for: permission) || permission == .watch && !self.isWatchingProtected {
      return .allowed(role)
    }
    if permission == .configure, isOnThisMachine, case .identified(let identity) = identification,
      identity.mayConfigure
    {
      return .allowed(identity.role)
    }
    switch identification {
    case .identified: return self.forbidden
    case .throttled(let delay): return .throttled(delay)
    case .anonymous:
      self.refusals.count(role == nil ? .unauthorized : .forbidden)
      return .unauthorized(stale: false)
    case .rejected:
      // A rejection is counted as a failed login only, where watching is protected.
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

extension AccessSettings {
  /// Whether a role suffices for a permission.
  fileprivate func suffices(_ role: Role, for permission: Permission) -> Bool {
    switch permission {
    case .watch: role == .viewer || role == .operator
    case .control: role == .operator || self.control == .all && role == .viewer
    case .readRecordings: role == .operator || role == .viewer && self.recordings == .viewers
    case .publish(let stream), .readPublisher(let stream): role == .operator || role == .publisher(stream: stream)
    case .configure: false
    }
  }
}
