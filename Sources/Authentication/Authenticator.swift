internal import Crypto
public import Media

/// Decides who may watch, over RTSP and over HTTP: Digest (RFC 7616, and RFC 2069 without `qop`) with SHA-256 and MD5, and Basic (RFC 7617).
///
/// A nonce is the time it was made and a keyed hash of it, so none is stored and every connection can check it.
///
/// The challenges come each in a header line of its own, SHA-256 first, MD5 second, Basic last, and the two Digest ones
/// share one nonce. This order is the one in which all clients find theirs:
/// - FFmpeg (OBS, mpv) and live555 (VLC) know MD5 only and keep the last Digest line they read; FFmpeg then refuses any
///   other `algorithm`, so MD5 must be behind SHA-256. Basic behind it does not replace it.
/// - GStreamer keeps the last line of its kind and prefers Digest; go2rtc, newer ExoPlayers and others take the first
///   Digest line, do not read `algorithm` and answer with MD5: right too, since the nonce is the same.
/// - gortsplib and others that know SHA-256 choose it wherever it stands. Older ExoPlayers take the last line: Basic.
///
/// live555 and ExoPlayer find `realm` and `nonce` only right behind the scheme, in this order, quoted, and one ExoPlayer
/// takes only letters and digits for a nonce.
public struct Authenticator: Sendable {
  /// What a request's proof is worth.
  public enum Verdict: Hashable, Sendable {
    /// The user may watch; with Digest the nonce that was used.
    case accepted(nonce: String?)
    /// No or no right proof; `stale` when only the nonce is no longer good and the client can try again by itself.
    case rejected(stale: Bool)
  }

  /// Who may watch; empty for everybody.
  public let credentials: [Credentials]
  /// What users see when asked for a password; letters, digits and spaces.
  public let realm: String
  /// How long a nonce can be used to enter. A connection that has entered may keep its nonce.
  public let nonceLifetime: MediaDuration

  private let key: SymmetricKey

  /// An authenticator.
  ///
  /// - Parameter secret: At least 16 random bytes, made when the server starts.
  public init(
    credentials: [Credentials], secret: [UInt8], realm: String = "Vidicon",
    nonceLifetime: MediaDuration = .seconds(300)
  ) {
    self.credentials = credentials
    self.realm = realm
    self.nonceLifetime = nonceLifetime
    self.key = SymmetricKey(data: secret)
  }

  /// The values of the `WWW-Authenticate` lines of an answer with status 401, in their order.
  ///
  /// - Parameter stale: Whether only the nonce was not good, so that the client need not ask its user again.
  public func challenges(stale: Bool, now: MediaTime) -> [String] {
    let nonce = self.nonce(at: now)
    return DigestAlgorithm.allCases.map { algorithm in
      "Digest realm=\"\(self.realm)\", nonce=\"\(nonce)\"\(stale ? ", stale=true" : "")"
        + ", algorithm=\(algorithm.rawValue), qop=\"auth\""
    } + ["Basic realm=\"\(self.realm)\""]
  }

  /// Judges a request.
  ///
  /// - Parameters:
  ///   - method: The request's method.
  ///   - authorization: The values of its `Authorization` lines.
  ///   - covers: Whether a proof of this URI holds for what is asked for.
  ///   - nonce: The one that the connection has entered with, which does not expire.
  public func judge(
    method: String, authorization values: [String], covers: (_ uri: String) -> Bool, enteredWith nonce: String? = nil,
    now: MediaTime
  ) -> Verdict {
    if self.credentials.isEmpty { return .accepted(nonce: nil) }
    // Several lines are not allowed, RFC 7235 §4.2; which of them counted would be anyone's guess.
    guard values.count == 1, let authorization = Authorization(parsing: values[0]) else {
      return .rejected(stale: false)
    }
    switch authorization {
    case .basic(let user, let password):
      return self.knows(user: user, password: password) ? .accepted(nonce: nil) : .rejected(stale: false)
    case .digest(let digest):
      guard digest.realm == self.realm, covers(digest.uri), self.proves(digest, method: method) else {
        return .rejected(stale: false)
      }
      let isGood = digest.nonce == nonce || self.isFresh(digest.nonce, now: now)
      return isGood ? .accepted(nonce: digest.nonce) : .rejected(stale: true)
    }
  }

  private func knows(user: [UInt8], password: [UInt8]) -> Bool {
    var isKnown = false
    for credentials in self.credentials {
      // Hashes have one length, so the time tells nothing about how much is right.
      let name = isEqual(SHA256.hash(data: user), SHA256.hash(data: Array(credentials.user.utf8)))
      let word = isEqual(SHA256.hash(data: password), SHA256.hash(data: Array(credentials.password.utf8)))
      isKnown = isKnown || name && word
    }
    return isKnown
  }

  private func proves(_ digest: Authorization.Digest, method: String) -> Bool {
    let response = digest.response.utf8.map(\.lowercasedASCII)
    var isProven = false
    // For every user, known or not, so that the time does not tell which names there are.
    for credentials in self.credentials {
      let secret = digest.algorithm.hash(credentials.user, self.realm, credentials.password)
      let resource = digest.algorithm.hash(method, digest.uri)
      let expected =
        switch digest.protection {
        case nil: digest.algorithm.hash(secret, digest.nonce, resource)
        case let protection?:
          digest.algorithm.hash(secret, digest.nonce, protection.nonceCount, protection.clientNonce, "auth", resource)
        }
      let isRight = isEqual(response, expected.utf8)
      isProven = isProven || isRight && credentials.user == digest.user
    }
    return isProven
  }

  /// 16 digits of time, 32 digits of its keyed hash.
  private func nonce(at time: MediaTime) -> String {
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: time.nanoseconds >> (56 - 8 * $0)) }
    let code = HMAC<SHA256>.authenticationCode(for: bytes, using: self.key)
    return hexadecimal(bytes) + hexadecimal(code.prefix(16))
  }

  private func isFresh(_ nonce: String, now: MediaTime) -> Bool {
    guard nonce.utf8.count == 48, let bits = UInt64(nonce.prefix(16), radix: 16) else { return false }
    let time = MediaTime(nanoseconds: Int64(bitPattern: bits))
    guard isEqual(nonce.utf8, self.nonce(at: time).utf8), time <= now else { return false }
    return now - time < self.nonceLifetime
  }
}

/// Whether both are the same bytes, in a time that depends on their lengths only.
private func isEqual(_ lhs: some Collection<UInt8>, _ rhs: some Collection<UInt8>) -> Bool {
  lhs.count == rhs.count && zip(lhs, rhs).reduce(into: UInt8(0)) { $0 |= $1.0 ^ $1.1 } == 0
}

private func isEqual(_ lhs: SHA256.Digest, _ rhs: SHA256.Digest) -> Bool {
  // `Digest` compares in constant time.
  lhs == rhs
}
