package import Media
internal import Synchronization

extension AccessControl {
  /// The comparison with a scrypt hash that a request needs before ``identify(_:covers:now:)``; nil for none.
  package func passwordCheck(for request: AccessRequest, now: MediaTime) -> PasswordCheck? {
    guard request.allowsBasic, case .given(.basic(let user, let password)) = request.proof else { return nil }
    return self.passwordCheck(user: user, password: password, address: request.address, now: now)
  }

  /// The comparison with a scrypt hash that a login needs before ``login(user:password:address:now:)``; nil for none.
  package func passwordCheck(user: String, password: Secret, address: String, now: MediaTime) -> PasswordCheck? {
    self.passwordCheck(user: Array(user.utf8), password: Array(password.text.utf8), address: address, now: now)
  }

  private func passwordCheck(
    user: [UInt8], password: [UInt8], address: String, now: MediaTime
  ) -> PasswordCheck? {
    let name = String(decoding: user, as: UTF8.self)
    return self.state.withLock { state -> PasswordCheck? in
      let level = state.level(ofUser: name)
      guard state.throttle.delay(address: address, name: name, level: level, now: now) == nil else { return nil }
      let verdict = self.authenticator.verify(user: user, password: password, of: state.allUsers) { comparison in
        state.rightPasswords.contains(self.mark(of: comparison))
      }
      guard case .unverified(let comparison) = verdict else { return nil }
      let mark = self.mark(of: comparison)
      guard !state.wrongPasswords.contains(mark) else { return nil }
      return PasswordCheck(
        password: comparison.password, hash: comparison.hash, user: name, address: address, mark: mark)
    }
  }

  /// Whether a comparison that has waited is still to be made.
  package func standing(of check: PasswordCheck, now: MediaTime) -> PasswordCheck.Standing {
    self.state.withLock { state in
      let level = state.level(ofUser: check.user)
      if let delay = state.throttle.delay(address: check.address, name: check.user, level: level, now: now) {
        return .throttled(delay)
      }
      let isKnown = state.rightPasswords.contains(check.mark) || state.wrongPasswords.contains(check.mark)
      return isKnown ? .done : .needed
    }
  }

  /// Remembers the result of a comparison.
  package func remember(_ check: PasswordCheck, isRight: Bool) {
    self.state.withLock { state in
      if isRight { state.rightPasswords.insert(check.mark) } else { state.wrongPasswords.insert(check.mark) }
    }
  }
}
