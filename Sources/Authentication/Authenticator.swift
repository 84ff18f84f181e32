internal import Cryptography
internal import Media

/// Verifies the passwords of users in RTSP and HTTP requests: Digest (RFC 7616, and RFC 2069 without `qop`)
/// with SHA-256 and MD5, and Basic (RFC 7617).
///
/// A nonce is its creation time and a keyed hash of it and of the client's address: no nonce is stored, every connection can
/// verify it, and it is of no use from another address.
///
/// Each challenge is a header line of its own: SHA-256, MD5, Basic; the two Digest challenges share one nonce. All
/// clients find a supported challenge in this order:
/// - FFmpeg (OBS, mpv) and live555 (VLC) support MD5 only and use the last Digest line; FFmpeg refuses any other
///   `algorithm`, so MD5 must follow SHA-256. Basic behind MD5 does not replace it.
/// - GStreamer uses the last line of each scheme and prefers Digest; go2rtc, newer ExoPlayers and others use the first
///   Digest line, ignore `algorithm` and answer with MD5, which is valid since the nonce is the same.
/// - gortsplib and others that support SHA-256 select it in any order. Older ExoPlayers use the last line: Basic.
///
/// live555 and ExoPlayer need `realm` and `nonce` directly behind the scheme, in this order, quoted; some ExoPlayers
/// accept only letters and digits in a nonce.
struct Authenticator: Sendable {
  /// Result of the verification of a request.
  enum Verdict: Hashable {
    /// The password is right.
    case accepted(Acceptance)
    /// The password is to be compared with a hash, which takes long.
    case unverified(HashComparison)
    /// No valid proof; `stale` when only the nonce has expired, so that the client can retry without asking its user.
    case rejected(stale: Bool)
  }

  /// A valid proof.
  struct Acceptance: Hashable {
    var user: Credentials
    /// The nonce of the proof and its count, 0 without one; nil for Basic.
    var nonce: Nonce?
  }

  /// A nonce of this server.
  struct Nonce: Hashable {
    var text: String
    var created: MediaTime
    var count: UInt32
  }

  /// The protection space, shown in password prompts: letters, digits and spaces, RFC 7235 §2.2.
  let realm: String
  /// Lifetime of a nonce. A connection that has authenticated may use its nonce for longer.
  let nonceLifetime: MediaDuration

  private let key: HMACKey

  /// - Parameter secret: The key of the nonces: at least 16 random bytes, generated when the server starts.
  init(secret: [UInt8], realm: String = "Vidicon", nonceLifetime: MediaDuration = .seconds(300)) {
    self.realm = realm
    self.nonceLifetime = nonceLifetime
    self.key = HMACKey(secret)
  }

  /// The values of the `WWW-Authenticate` lines for Digest, in their order.
  ///
  /// - Parameter stale: Whether only the nonce has expired, so that the client can retry without asking its user.
  func digestChallenges(stale: Bool, address: String, now: MediaTime) -> [String] {
    let nonce = self.nonce(at: now, address: address)
    return DigestAlgorithm.allCases.map { algorithm in
      "Digest realm=\"\(self.realm)\", nonce=\"\(nonce)\"\(stale ? ", stale=true" : "")"
        + ", algorithm=\(algorithm.rawValue), qop=\"auth\""
    }
  }

  /// The value of the `WWW-Authenticate` line for Basic.
  var basicChallenge: String { "Basic realm=\"\(self.realm)\"" }

  /// Verifies a Digest proof.
  ///
  /// - Parameters:
  ///   - method: The request method.
  ///   - address: The client's address.
  ///   - covers: Whether a proof for this URI is valid for the requested resource.
  ///   - nonce: The nonce that the connection has authenticated with, which does not expire.
  func verify(
    _ digest: Authorization.Digest, of users: [Credentials], method: String, address: String,
    covers: (_ uri: String) -> Bool, enteredWith nonce: String?, now: MediaTime
  ) -> Verdict {
    guard digest.realm == self.realm, covers(digest.uri),
      let user = self.proves(digest, method: method, users: users)
    else { return .rejected(stale: false) }
    // A connection's own nonce was verified before.
    let isOwn = digest.nonce == nonce
    guard let created = self.creationTime(of: digest.nonce, address: address, now: now) ?? (isOwn ? now : nil),
      isOwn || now - created < self.nonceLifetime
    else { return .rejected(stale: true) }
    let count = digest.protection?.number ?? 0
    return .accepted(Acceptance(user: user, nonce: Nonce(text: digest.nonce, created: created, count: count)))
  }

  /// Compares a name and a password with those of the users.
  ///
  /// - Parameter isVerified: Whether a check of a hash has succeeded before.
  func verify(
    user name: [UInt8], password: [UInt8], of users: [Credentials], isVerified: (HashComparison) -> Bool
  ) -> Verdict {
    var verdict = Verdict.rejected(stale: false)
    // For every user, so that the time does not depend on whether the name exists.
    for user in users {
      let hasName = Secret(user.user).matches(name)
      switch user.password {
      case .clear(let secret):
        let hasPassword = secret.matches(password)
        if hasName && hasPassword { verdict = .accepted(Acceptance(user: user)) }
      case .scrypt(let hash):
        guard hasName else { continue }
        let comparison = HashComparison(password: Secret(String(decoding: password, as: UTF8.self)), hash: hash)
        verdict = isVerified(comparison) ? .accepted(Acceptance(user: user)) : .unverified(comparison)
      }
    }
    return verdict
  }

  /// The user whose name and password the proof has; nil for a wrong proof.
  private func proves(_ digest: Authorization.Digest, method: String, users: [Credentials]) -> Credentials? {
    let response = digest.response.utf8.map(\.lowercasedASCII)
    var proven: Credentials?
    // For every user, so that the time does not depend on whether the name exists.
    for user in users {
      guard let password = user.clearPassword else { continue }
      let secret = digest.algorithm.hash(user.user, self.realm, password)
      let resource = digest.algorithm.hash(method, digest.uri)
      let expected =
        switch digest.protection {
        case nil: digest.algorithm.hash(secret, digest.nonce, resource)
        case let protection?:
          digest.algorithm.hash(secret, digest.nonce, protection.nonceCount, protection.clientNonce, "auth", resource)
        }
      let isRight = ConstantTime.isEqual(response, expected.utf8)
      if isRight, user.user == digest.user { proven = user }
    }
    return proven
  }

  /// A nonce: 16 hexadecimal digits of the time, 32 of a keyed hash of the time and the client's address.
  private func nonce(at time: MediaTime, address: String) -> String {
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: time.nanoseconds >> (56 - 8 * $0)) }
    let client = IPAddress(parsing: address).map { "\($0)" } ?? address
    let code = self.key.code(of: bytes + Array(client.utf8), .sha256)
    return Hexadecimal.encode(bytes) + Hexadecimal.encode(code.prefix(16))
  }

  /// The time of a nonce that this server has sent to this address; nil for any other.
  private func creationTime(of nonce: String, address: String, now: MediaTime) -> MediaTime? {
    guard nonce.utf8.count == 48, let bits = UInt64(nonce.prefix(16), radix: 16) else { return nil }
    let time = MediaTime(nanoseconds: Int64(bitPattern: bits))
    return ConstantTime.isEqual(nonce.utf8, self.nonce(at: time, address: address).utf8) && time <= now ? time : nil
  }
}

/// A password that a client has sent, and the hash to compare it with.
struct HashComparison: Hashable {
  var password: Secret
  var hash: PasswordHash
}
