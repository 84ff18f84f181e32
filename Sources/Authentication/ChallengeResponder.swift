internal import Media

/// The client's side of the schemes Digest, RFC 7616, and Basic, RFC 7617: answers a server's challenges. Pure: the client's nonce is
/// an argument.
package struct ChallengeResponder: Sendable {
  private enum Challenge: Sendable {
    case basic
    case digest(realm: String, nonce: String, opaque: String?, algorithm: DigestAlgorithm, hasProtection: Bool)
  }

  private let user: String
  private let password: String
  private let clientNonce: String
  private var challenge: Challenge?
  /// Number of requests with the current nonce.
  private var count: UInt32 = 0

  /// A responder that no server has challenged.
  ///
  /// - Parameter clientNonce: Random hexadecimal digits.
  package init(user: String, password: String, clientNonce: String) {
    (self.user, self.password, self.clientNonce) = (user, password, clientNonce)
  }

  /// Whether a server has sent a challenge that can be answered.
  package var isChallenged: Bool { self.challenge != nil }

  /// Adopts one of a response's challenges, the values of its `WWW-Authenticate` lines: the first supported one of
  /// Digest, or Basic where there is none.
  ///
  /// - Returns: Whether a further try can succeed: false when the server has refused the answer to an earlier challenge, other than
  ///   for the age of its nonce, and without a supported challenge.
  package mutating func take(_ challenges: [String]) -> Bool {
    let isFirst = self.challenge == nil
    var found: (challenge: Challenge, isStale: Bool)?
    for value in challenges {
      guard let space = value.utf8.firstIndex(of: UInt8(ascii: " ")) else { continue }
      let scheme = value[..<space]
      if scheme.equalsIgnoringCase("Digest"), let digest = Self.digest(value[space...].trimmingSpace()) {
        found = digest
        break
      }
      if scheme.equalsIgnoringCase("Basic"), found == nil { found = (.basic, false) }
    }
    guard let found, isFirst || found.isStale else { return false }
    self.challenge = found.challenge
    self.count = 0
    return true
  }

  private static func digest(_ text: String) -> (challenge: Challenge, isStale: Bool)? {
    var parameters: [String: String] = [:]
    for part in text.splitOutsideQuotes(UInt8(ascii: ",")) {
      guard let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
      let name = String(decoding: part[..<equals].trimmingSpace().utf8.map(\.lowercasedASCII), as: UTF8.self)
      parameters[name] = part[part.utf8.index(after: equals)...].trimmingSpace().unquoted()
    }
    guard let realm = parameters["realm"], let nonce = parameters["nonce"],
      let algorithm = DigestAlgorithm(named: parameters["algorithm"])
    else { return nil }
    let qualities = parameters["qop"]?.splitOutsideQuotes(UInt8(ascii: ",")) ?? []
    let hasProtection = qualities.contains { $0.trimmingSpace().equalsIgnoringCase("auth") }
    // Bodies are not part of the proof.
    guard hasProtection || qualities.isEmpty else { return nil }
    return (
      .digest(
        realm: realm, nonce: nonce, opaque: parameters["opaque"], algorithm: algorithm, hasProtection: hasProtection),
      parameters["stale"]?.equalsIgnoringCase("true") ?? false
    )
  }

  /// The value of the `Authorization` line of a request; nil before a challenge.
  package mutating func authorization(method: String, uri: String) -> String? {
    switch self.challenge {
    case nil: return nil
    case .basic: return "Basic " + Base64.encode(Array("\(self.user):\(self.password)".utf8))
    case .digest(let realm, let nonce, let opaque, let algorithm, let hasProtection):
      self.count += 1
      let digits = String(self.count, radix: 16)
      let count = String(repeating: "0", count: 8 - digits.utf8.count) + digits
      let secret = algorithm.hash(self.user, realm, self.password)
      let resource = algorithm.hash(method, uri)
      let response =
        hasProtection
        ? algorithm.hash(secret, nonce, count, self.clientNonce, "auth", resource)
        : algorithm.hash(secret, nonce, resource)
      var text = "Digest username=\(Self.quoted(self.user)), realm=\(Self.quoted(realm)), nonce=\(Self.quoted(nonce))"
      text += ", uri=\(Self.quoted(uri)), algorithm=\(algorithm.rawValue), response=\"\(response)\""
      if hasProtection { text += ", qop=auth, nc=\(count), cnonce=\"\(self.clientNonce)\"" }
      if let opaque { text += ", opaque=\(Self.quoted(opaque))" }
      return text
    }
  }

  /// A `quoted-string`, RFC 9110 §5.6.4.
  private static func quoted(_ text: String) -> String {
    var bytes: [UInt8] = [UInt8(ascii: "\"")]
    for byte in text.utf8 {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
      bytes.append(byte)
    }
    return String(decoding: bytes + [UInt8(ascii: "\"")], as: UTF8.self)
  }
}
