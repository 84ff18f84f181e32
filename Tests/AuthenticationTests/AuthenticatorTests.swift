import Media
import TestSupport
import Testing

@testable import Authentication

@Suite("Digest and Basic authentication, RFC 7616 and RFC 7617")
struct AuthenticatorTests {
  static let now = MediaTime(nanoseconds: 1_000_000_000_000)

  /// An authenticator with its users.
  struct Subject {
    var authenticator: Authenticator
    var users: [Credentials]

    func challenges(stale: Bool, now: MediaTime) -> [String] {
      self.authenticator.digestChallenges(stale: stale, address: "192.0.2.1", now: now)
    }
  }

  enum Verdict: Equatable {
    case accepted(nonce: String?)
    case rejected(stale: Bool)
  }

  static func authenticator(_ credentials: String..., realm: String = "Vidicon", secret: [UInt8] = [1, 2, 3]) -> Subject
  {
    Subject(
      authenticator: Authenticator(secret: secret, realm: realm),
      users: credentials.compactMap { Credentials(parsing: $0) })
  }

  /// A request for one resource; a proof is valid for it when both name the same URI.
  struct Request {
    var method: String
    var uri: String
    var authorization: [String]
  }

  static func request(_ line: String, _ authorization: String?) -> Request {
    let parts = line.split(separator: " ")
    return Request(method: String(parts[0]), uri: String(parts[1]), authorization: authorization.map { [$0] } ?? [])
  }

  @Test func `credentials are a name, a colon and any password`() {
    #expect(Credentials(parsing: "a:b:c")?.password == .clear(Secret("b:c")))
    #expect(Credentials(parsing: "a:")?.password == .clear(Secret("")))
    #expect(Credentials(parsing: ":b") == nil)
    #expect(Credentials(parsing: "a") == nil)
  }

  @Test func `the challenges are in the order that all clients support, with one nonce of letters and digits`() {
    let challenges = Self.authenticator("u:p").challenges(stale: false, now: Self.now)
    let nonce = DigestClient(challenge: challenges[0], user: "", password: "").nonce
    #expect(nonce.utf8.count == 48)
    #expect(nonce.utf8.allSatisfy { $0.hexadecimalValue != nil })
    #expect(
      challenges == [
        "Digest realm=\"Vidicon\", nonce=\"\(nonce)\", algorithm=SHA-256, qop=\"auth\"",
        "Digest realm=\"Vidicon\", nonce=\"\(nonce)\", algorithm=MD5, qop=\"auth\"",
      ])
    #expect(
      Self.authenticator("u:p").challenges(stale: true, now: Self.now)[1].contains("\", stale=true, algorithm=MD5"))
  }

  /// Captured from these programs with another server's nonce: the proof is correct, the nonce is not fresh.
  @Test(arguments: [
    (
      "ffmpeg 5.1", "us@er:pass", "DESCRIBE rtsp://127.0.0.1:9002/live",
      """
      Digest username="us@er", realm="Vidicon", nonce="0123456789abcdef0123456789abcdef", \
      uri="rtsp://127.0.0.1:9002/live", response="873a794bcab8697b9b602850d41197b9", algorithm="MD5", qop="auth", \
      cnonce="b908b36446e61b39", nc=00000001
      """
    ),
    (
      "mpv 0.35", "user:pass", "PLAY rtsp://127.0.0.1:9004/live/",
      """
      Digest username="user", realm="Vidicon", nonce="0123456789abcdef0123456789abcdef", \
      uri="rtsp://127.0.0.1:9004/live/", response="b2f5b65967a63f93123f06ef0cf89869", algorithm="MD5", qop="auth", \
      cnonce="1b605db399037618", nc=00000004
      """
    ),
    (
      "GStreamer 1.22", "user:pass", "SETUP rtsp://127.0.0.1:9003/live/trackID=1",
      """
      Digest username="user", realm="Vidicon", nonce="0123456789abcdef0123456789abcdef", \
      uri="rtsp://127.0.0.1:9003/live/trackID=1", response="f9c47e11be134f16ca6140c1a2189693"
      """
    ),
  ])
  func `proofs of real clients are accepted`(client: String, credentials: String, line: String, header: String) {

    let authenticator = Self.authenticator("other:one", credentials)
    let nonce = "0123456789abcdef0123456789abcdef"
    let request = Self.request(line, header)
    #expect(authenticator.judge(request, enteredWith: nil, now: Self.now) == .rejected(stale: true))
    #expect(authenticator.judge(request, enteredWith: nonce, now: Self.now) == .accepted(nonce: nonce))
    let wrong = Self.request(line, header.replacingFirst("response=\"", with: "response=\"0"))
    #expect(authenticator.judge(wrong, enteredWith: nonce, now: Self.now) == .rejected(stale: false))
  }

  /// RFC 7616 §3.9.1.
  @Test(arguments: [
    ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
    ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
  ])
  func `the proof of the example in RFC 7616 is accepted`(algorithm: String, response: String) {

    let header = """
      Digest username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html", algorithm=\(algorithm), \
      nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", nc=00000001, \
      cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", qop=auth, response="\(response)", \
      opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
      """
    let authenticator = Self.authenticator("Mufasa:Circle of Life", realm: "http-auth@example.org")
    #expect(
      authenticator.judge(Self.request("GET /dir/index.html", header), enteredWith: nil, now: Self.now)
        == .rejected(stale: true))
  }

  @Test(arguments: [false, true], [0, 1])
  func `a fresh proof is accepted with and without qop, and stale after the nonce's lifetime`(qop: Bool, index: Int) {

    let authenticator = Self.authenticator("user:pass")
    var client = DigestClient(
      challenge: authenticator.challenges(stale: false, now: Self.now)[index], user: "user", password: "pass")
    client.usesProtection = qop
    client.namesAlgorithm = true
    let request = Self.request("PLAY rtsp://h/live", client.proof(of: "PLAY rtsp://h/live"))
    let nearEnd = Self.now + .milliseconds(299_999)
    #expect(authenticator.judge(request, enteredWith: nil, now: nearEnd) == .accepted(nonce: client.nonce))
    let end = Self.now + .seconds(300)
    #expect(authenticator.judge(request, enteredWith: nil, now: end) == .rejected(stale: true))
    #expect(authenticator.judge(request, enteredWith: client.nonce, now: end) == .accepted(nonce: client.nonce))
    let before = Self.now - .seconds(1)
    #expect(authenticator.judge(request, enteredWith: nil, now: before) == .rejected(stale: true))
    #expect(
      Self.authenticator("user:pass", secret: [9]).judge(request, enteredWith: nil, now: Self.now)
        == .rejected(stale: true))
    #expect(
      authenticator.judge(request, enteredWith: nil, address: "192.0.2.2", now: Self.now) == .rejected(stale: true))
  }

  @Test func `a client that takes the first Digest line and knows MD5 only is accepted`() {
    let authenticator = Self.authenticator("user:pass")
    let challenges = authenticator.challenges(stale: false, now: Self.now)
    #expect(
      DigestClient(challenge: challenges[0], user: "", password: "").nonce
        == DigestClient(challenge: challenges[1], user: "", password: "").nonce)
  }

  @Test(arguments: [
    ("Basic dXNlcjpwYXNz", true), ("basic  dXNlcjpwYXNz", true), ("Basic dXNlcjpwYXNzOg==", false),
    ("Basic dXNlcjo=", false), ("Basic dXNlcg==", false), ("Basic dXNlcjpwYXNz!", false), ("Basic", false),
    ("Basic ====", false), ("Bearer x", false), ("", false), ("Digest ", false), ("Digest =,=", false),
    ("Digest username=\"user\"", false), ("Digest username=\"", false),
    // admin:a:b=c as RFC 4648 writes it with padding
    ("Basic YWRtaW46YTpiPWM=", true), ("Basic YWRtaW46YTpiPWM", true),
  ])
  func `a Basic proof is name and password exactly`(header: String, isAccepted: Bool) {

    #expect(
      Self.authenticator("user:pass", "admin:a:b=c")
        .judge(Self.request("PLAY rtsp://h/live", header), enteredWith: nil, now: Self.now)
        == (isAccepted ? .accepted(nonce: nil) : .rejected(stale: false)))
  }

  @Test(arguments: [
    ("method", "PAUSE rtsp://h/live", "user", "pass", ""), ("user", "PLAY rtsp://h/live", "User", "pass", ""),
    ("password", "PLAY rtsp://h/live", "user", "Pass", ""),
    ("an unknown algorithm", "PLAY rtsp://h/live", "user", "pass", ", algorithm=MD5-sess"),
    ("another algorithm", "PLAY rtsp://h/live", "user", "pass", ", algorithm=SHA-256"),
    ("another protection", "PLAY rtsp://h/live", "user", "pass", ", qop=auth-int, nc=1, cnonce=\"1\""),
    ("protection without cnonce", "PLAY rtsp://h/live", "user", "pass", ", qop=auth, nc=1"),
    ("a parameter twice", "PLAY rtsp://h/live", "user", "pass", ", username=\"user\""),
    ("another realm", "PLAY rtsp://h/live", "user", "pass", ", REALM=\"x\""),
  ])
  func `a wrong proof is rejected`(name: String, proven: String, user: String, password: String, rest: String) {

    let authenticator = Self.authenticator("user:pass")
    let client = DigestClient(
      challenge: authenticator.challenges(stale: false, now: Self.now)[1], user: user, password: password)
    let request = Self.request("PLAY rtsp://h/live", client.proof(of: proven) + rest)
    #expect(authenticator.judge(request, enteredWith: nil, now: Self.now) == .rejected(stale: false))
  }

}

extension String {
  func replacingFirst(_ text: String, with other: String) -> String {
    guard let range = self.firstRange(of: text) else { return self }
    return String(self[..<range.lowerBound]) + other + String(self[range.upperBound...])
  }
}

extension AuthenticatorTests.Subject {
  fileprivate func judge(
    _ request: AuthenticatorTests.Request, enteredWith nonce: String?, address: String = "192.0.2.1", now: MediaTime
  ) -> AuthenticatorTests.Verdict {
    guard request.authorization.count == 1, let proof = Authorization(parsing: request.authorization[0]) else {
      return .rejected(stale: false)
    }
    let verdict: Authenticator.Verdict
    switch proof {
    case .basic(let user, let password):
      verdict = self.authenticator.verify(user: user, password: password, of: self.users) { _ in false }
    case .digest(let digest):
      verdict = self.authenticator.verify(
        digest, of: self.users, method: request.method, address: address, covers: { $0 == request.uri },
        enteredWith: nonce, now: now)
    case .bearer: verdict = .rejected(stale: false)
    }
    switch verdict {
    case .accepted(let acceptance): return .accepted(nonce: acceptance.nonce?.text)
    case .rejected(let stale): return .rejected(stale: stale)
    case .unverified: return .rejected(stale: false)
    }
  }
}
