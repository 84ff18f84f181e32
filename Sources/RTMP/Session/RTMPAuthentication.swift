internal import Authentication
internal import Media

/// Answers to servers that want a user and password within RTMP: Adobe's `authmod=adobe`, which Wowza has too, and Limelight's
/// `authmod=llnw`. Neither is specified; FFmpeg's client is followed.
///
/// ```
///   connect APP                                   ──▶
///                     ◀── _error  code=403 need auth; authmod=adobe
///   connect APP?authmod=adobe&user=USER           ──▶
///                     ◀── _error  ?reason=needauth&user=USER&salt=S&challenge=C&opaque=O
///   connect APP?authmod=adobe&user=USER&challenge=N&response=R&opaque=O  ──▶
///                     ◀── _result
/// ```
///
/// Each `connect` is on a connection of its own. The password is not sent, but what is sent allows to guess it: MD5 without TLS.
enum RTMPAuthentication: Hashable {
  /// Query of the application of the next connection.
  case query(String)
  /// No connection with this login will succeed; the reason in one line.
  case refused(String)

  private enum Method: String, CaseIterable {
    case adobe, llnw
  }

  /// The answer to the error of a `connect`; nil where the error is about something else.
  ///
  /// - Parameters:
  ///   - description: The error's description.
  ///   - url: The URL of the connection, with the query of an earlier answer.
  ///   - clientNonce: An unpredictable number.
  init?(to description: String, url: RTMPURL, clientNonce: UInt32) {
    guard description.contains("authmod=") else { return nil }
    guard let method = Method.allCases.first(where: { description.contains("authmod=\($0)") }) else {
      self = .refused("the server wants a user and password in a way that is not supported")
      return
    }
    guard let login = url.login else {
      self = .refused(
        "the server wants a user and password: give \(url.isEncrypted ? "rtmps" : "rtmp")://USER:PASSWORD@HOST/…")
      return
    }
    let query = url.applicationQuery.text
    if query.contains("&response=") || ["authfailed", "nosuchuser"].contains(where: description.contains) {
      self = .refused("the user or password is wrong")
      return
    }
    guard let challenge = Self.challenge(in: description) else {
      self =
        query.contains("authmod=")
        ? .refused("the server's challenge is not understood") : .query("authmod=\(method)&user=\(login.user)")
      return
    }
    let nonce = String(clientNonce, radix: 16)
    let padded = String(repeating: "0", count: 8 - nonce.count) + nonce
    self =
      switch method {
      case .adobe: .query(Self.adobe(challenge, login: login, nonce: padded))
      case .llnw: .query(Self.llnw(challenge, login: login, nonce: padded, application: url.application))
      }
  }

  /// The values behind `?reason=needauth`; nil without them.
  private static func challenge(in description: String) -> [String: String]? {
    let mark = "?reason=needauth"
    guard let start = description.firstRange(of: mark)?.upperBound else { return nil }
    var values: [String: String] = [:]
    for pair in description[start...].prefix(while: { !$0.isWhitespace }).split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
    }
    return values
  }

  private static func adobe(_ challenge: [String: String], login: RTMPLogin, nonce: String) -> String {
    func hash(_ text: String) -> String { Base64.encode(DigestAlgorithm.md5.digest(of: text)) }
    let secret = hash(login.user + (challenge["salt"] ?? "") + login.password.text)
    let opaque = challenge["opaque"]
    let response = hash(secret + (opaque ?? challenge["challenge"] ?? "") + nonce)
    return "authmod=adobe&user=\(login.user)&challenge=\(nonce)&response=\(response)"
      + (opaque.map { "&opaque=\($0)" } ?? "")
  }

  private static func llnw(
    _ challenge: [String: String], login: RTMPLogin, nonce: String, application: String
  ) -> String {
    let serverNonce = challenge["nonce"] ?? ""
    let path = "/" + application + (application.contains("/") ? "" : "/_definst_")
    let response = DigestAlgorithm.md5.hash(
      DigestAlgorithm.md5.hash(login.user, "live", login.password.text), serverNonce, "00000001", nonce, "auth",
      DigestAlgorithm.md5.hash("publish", path))
    return "authmod=llnw&user=\(login.user)&nonce=\(serverNonce)&cnonce=\(nonce)&nc=00000001&response=\(response)"
  }
}
