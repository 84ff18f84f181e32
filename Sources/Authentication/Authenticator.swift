internal import Crypto
public import Media

/// Verifies credentials of the viewer role in RTSP and HTTP requests: Digest (RFC 7616, and RFC 2069 without `qop`)
/// with SHA-256 and MD5, and Basic (RFC 7617).
///
/// A nonce is its creation time and a keyed hash of it: no nonce is stored, and every connection can verify it.
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
public struct Authenticator: Sendable {
  /// Result of the verification of a request.
  public enum Verdict: Hashable, Sendable {
    /// The credentials are valid; with Digest, the nonce of the proof.
    case accepted(nonce: String?)
    /// No valid proof; `stale` when only the nonce has expired, so that the client can retry without asking its user.
    case rejected(stale: Bool)
  }

  /// Credentials of the viewer role; empty to accept every request.
  public let credentials: [Credentials]
  /// The protection space, shown in password prompts: letters, digits and spaces, RFC 7235 §2.2.
  public let realm: String
  /// Lifetime of a nonce. A connection that has authenticated may use its nonce for longer.
  public let nonceLifetime: MediaDuration

  private let key: SymmetricKey

  /// An authenticator for a set of credentials.
  ///
  /// - Parameter secret: The key of the nonces: at least 16 random bytes, generated when the server starts.
  public init(
    credentials: [Credentials], secret: [UInt8], realm: String = "Vidicon",
    nonceLifetime: MediaDuration = .seconds(300)
  ) {
    self.credentials = credentials
    self.realm = realm
    self.nonceLifetime = nonceLifetime
    self.key = SymmetricKey(data: secret)
  }

  /// The values of the `WWW-Authenticate` lines of a response with status 401, in their order.
  ///
  /// - Parameter stale: Whether only the nonce has expired, so that the client can retry without asking its user.
  public func challenges(stale: Bool, now: MediaTime) -> [String] {
    let nonce = self.nonce(at: now)
    return DigestAlgorithm.allCases.map { algorithm in
      "Digest realm=\"\(self.realm)\", nonce=\"\(nonce)\"\(stale ? ", stale=true" : "")"
        + ", algorithm=\(algorithm.rawValue), qop=\"auth\""
    } + ["Basic realm=\"\(self.realm)\""]
  }

  /// Verifies the credentials of a request.
  ///
  /// - Parameters:
  ///   - method: The request method.
  ///   - authorization: The values of the `Authorization` lines.
  ///   - covers: Whether a Digest proof for this URI is valid for the requested resource.
  ///   - nonce: The nonce that the connection has authenticated with, which does not expire.
  public func judge(
    method: String, authorization values: [String], covers: (_ uri: String) -> Bool, enteredWith nonce: String? = nil,
    now: MediaTime
  ) -> Verdict {
    if self.credentials.isEmpty { return .accepted(nonce: nil) }
    // Several lines are not allowed, RFC 7235 §4.2, and ambiguous.
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
      // Hashes have equal lengths, so that the time does not depend on the length of a correct prefix.
      let name = isEqual(SHA256.hash(data: user), SHA256.hash(data: Array(credentials.user.utf8)))
      let word = isEqual(SHA256.hash(data: password), SHA256.hash(data: Array(credentials.password.utf8)))
      isKnown = isKnown || name && word
    }
    return isKnown
  }

  private func proves(_ digest: Authorization.Digest, method: String) -> Bool {
    let response = digest.response.utf8.map(\.lowercasedASCII)
    var isProven = false
    // For every user, so that the time does not depend on whether the name exists.
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

  /// A nonce: 16 hexadecimal digits of the time, 32 of its keyed hash.
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

/// Whether both are equal, in a time that depends on their lengths only.
private func isEqual(_ lhs: some Collection<UInt8>, _ rhs: some Collection<UInt8>) -> Bool {
  lhs.count == rhs.count && zip(lhs, rhs).reduce(into: UInt8(0)) { $0 |= $1.0 ^ $1.1 } == 0
}

private func isEqual(_ lhs: SHA256.Digest, _ rhs: SHA256.Digest) -> Bool {
  // `Digest` compares in constant time.
  lhs == rhs
}
