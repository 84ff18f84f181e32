import Media
import Synchronization
import TestSupport
import Testing

@testable import Authentication

extension AccessControlTests {
  @Test(arguments: [
    ("Aladdin:open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test:123£", "Basic dGVzdDoxMjPCow=="),
  ])
  func `the examples of RFC 7617 are accepted`(user: String, header: String) {
    #expect(Self.decide(.watch, Self.request(header), of: Self.control(user)) == .allowed(.viewer))
    #expect(
      Self.decide(.watch, Self.request(header, allowsBasic: false), of: Self.control(user))
        == .unauthorized(stale: false))
  }

  /// RFC 6750 §2.1 and §2.3, with a token made longer to 16 characters.
  @Test func `a token is accepted as Bearer and in the query, and no other text is a token`() throws {
    let token = try #require(AccessToken(parsing: "mF_9.B5f-4.1JqM=", role: .operator))
    let access = Self.control(tokens: [token])
    for request in [
      Self.request("Bearer mF_9.B5f-4.1JqM="), Self.request("bearer  mF_9.B5f-4.1JqM="),
      Self.request(token: "mF_9.B5f-4.1JqM="),
    ] {
      #expect(Self.decide(.control, request, of: access) == .allowed(.operator))
    }
    for request in [
      Self.request("Bearer mF_9.B5f-4.1JqM"), Self.request("Bearer a b"), Self.request(token: "mF_9"),
      Self.request("Basic mF_9.B5f-4.1JqM="), Self.request("Bearer"),
    ] {
      #expect(Self.decide(.control, request, of: access) == .unauthorized(stale: false))
    }
    for text in ["short", "0123456789abcde f", "=0123456789abcdef", String(repeating: "a", count: 257), ""] {
      #expect(AccessToken(parsing: text, role: .viewer) == nil)
    }
  }

  @Test func `two Authorization lines, and a malformed one, are rejected and counted`() {
    let access = Self.control("anna:sesame")
    let line = "Basic YW5uYTpzZXNhbWU="
    let request = AccessRequest(method: "GET", authorization: [line, line], address: "192.0.2.1")
    #expect(Self.decide(.watch, Self.request(line), of: access) == .allowed(.viewer))
    #expect(Self.decide(.watch, request, of: access) == .unauthorized(stale: false))
    for value in ["Basic", "Basic !", "Digest nonce", "Bearer a b", ""] {
      #expect(Self.decide(.watch, Self.request(value), of: access) == .unauthorized(stale: false), "\(value)")
    }
    #expect(access.refusals[.malformed] == 6 && access.refusals[.failedLogin] == 0)
  }

  @Test func `a password sent in the clear is counted and reported, and is no guess`() {
    let lines = Mutex<[String]>([])
    let access = Self.control("anna:sesame", report: { line in lines.withLock { $0.append(line) } })
    for _ in 0..<9 {
      let clear = Self.request("Basic YW5uYTpzZXNhbWU=", allowsBasic: false)
      #expect(Self.decide(.watch, clear, of: access) == .unauthorized(stale: false))
    }
    #expect(access.refusals[.failedLogin] == 9)
    #expect(Self.decide(.watch, Self.request("Basic YW5uYTpzZXNhbWU="), of: access) == .allowed(.viewer))
    #expect(
      lines.withLock { $0 } == [
        "192.0.2.1: a password was sent without TLS, and not accepted; use TLS, or allow it with "
          + "--insecure-basic"
      ])
  }

  @Test(arguments: [true, false])
  func `a change with Digest is accepted once, a read again`(usesProtection: Bool) {
    let access = Self.control(operators: ["user:pass"])
    let challenges = access.challenges(
      for: .control, stale: false, address: "192.0.2.1", allowsBasic: false, now: Self.now)
    #expect(challenges.count == 2)
    var client = DigestClient(challenge: challenges[1], user: "user", password: "pass")
    client.usesProtection = usesProtection
    let change = Self.request(client.proof(of: "PUT /x"), method: "PUT", changesState: true)
    #expect(Self.decide(.control, change, of: access) == .allowed(.operator))
    #expect(Self.decide(.control, change, of: access) == .unauthorized(stale: true))
    let read = Self.request(client.proof(of: "GET /x"))
    for _ in 0..<3 { #expect(Self.decide(.readRecordings, read, of: access) == .allowed(.operator)) }
    var elsewhere = read
    elsewhere.address = "192.0.2.2"
    #expect(Self.decide(.readRecordings, elsewhere, of: access) == .unauthorized(stale: true))
    #expect(access.refusals[.failedLogin] == 0)
  }

  @Test func `a nonce is of no use to another host of the same IPv6 network`() {
    let access = Self.control(operators: ["user:pass"])
    let challenge = access.challenges(
      for: .control, stale: false, address: "fe80::1%eth0", allowsBasic: false, now: Self.now)[1]
    let client = DigestClient(challenge: challenge, user: "user", password: "pass")
    var request = Self.request(client.proof(of: "GET /x"), address: "fe80:0:0:0::1")
    #expect(Self.decide(.readRecordings, request, of: access) == .allowed(.operator))
    request.address = "fe80::2"
    #expect(Self.decide(.readRecordings, request, of: access) == .unauthorized(stale: true))
  }

  /// anna:wrong
  private static let wrong = "Basic YW5uYTp3cm9uZw=="

  @Test(arguments: [("fe80::", true), ("fd77::", true), ("2001:db8::", false)])
  func `of the own network and of link-local addresses a login exempts its address only`(
    network: String, isShared: Bool
  ) throws {
    var settings = AccessSettings()
    settings.users = [Credentials(user: "anna", password: "sesame")]
    let own = try #require(IPAddress(parsing: "fd77::99"))
    let access = AccessControl(
      settings: settings, makeRandom: { 7 }, isOnOwnLink: { $0.shares(prefix: 64, with: own) })
    func decide(_ proof: String, _ host: Int) -> AccessControl.Decision {
      Self.decide(.watch, Self.request(proof, address: "\(network)\(host)"), of: access)
    }
    let right = "Basic YW5uYTpzZXNhbWU="
    #expect(decide(right, 1) == .allowed(.viewer))
    // The stranger has many addresses.
    for host in 2..<7 { #expect(decide(Self.wrong, host) == .unauthorized(stale: false)) }
    #expect(decide(Self.wrong, 7) == (isShared ? .throttled(.seconds(1)) : .unauthorized(stale: false)))
    #expect(decide(right, 1) == .allowed(.viewer))
    for _ in 0..<9 { #expect(decide(Self.wrong, 1) == .unauthorized(stale: false)) }
  }

  @Test func `a network's failed logins are reported together`() {
    let lines = Mutex<[String]>([])
    let access = Self.control("anna:sesame", report: { line in lines.withLock { $0.append(line) } })
    for host in 1...4 { _ = Self.decide(.watch, Self.request(Self.wrong, address: "2001:db8::\(host)"), of: access) }
    #expect(lines.withLock { $0 } == ["2001:db8::1: wrong password or token"])
  }

  @Test func `failed logins are counted, reported once a minute, and slowed down for all protocols together`() {
    let lines = Mutex<[String]>([])
    let access = Self.control("anna:sesame", report: { line in lines.withLock { $0.append(line) } })
    // anna:wrong
    let wrong = Self.request("Basic YW5uYTp3cm9uZw==")
    for _ in 0..<5 { #expect(Self.decide(.watch, wrong, of: access) == .unauthorized(stale: false)) }
    #expect(Self.decide(.watch, wrong, of: access) == .throttled(.seconds(1)))
    let right = Self.request("Basic YW5uYTpzZXNhbWU=")
    #expect(Self.decide(.watch, right, of: access) == .throttled(.seconds(1)))
    var elsewhere = right
    elsewhere.address = "192.0.2.9"
    #expect(Self.decide(.watch, elsewhere, of: access) == .allowed(.viewer))
    #expect(access.refusals[.failedLogin] == 5)
    #expect(access.refusals[.throttled] == 2)
    #expect(lines.withLock { $0 } == ["192.0.2.1: wrong password or token"])
    _ = Self.decide(.watch, wrong, of: access, at: Self.now + .seconds(61))
    #expect(lines.withLock { $0.last } == "192.0.2.1: wrong password or token (5 times)")
  }

  @Test(arguments: [
    ("::ffff:192.0.2.7", "192.0.2.7"), ("::FFFF:c000:207", "192.0.2.7"), ("192.0.2.7", "192.0.2.7"),
    ("2001:db8::1", "2001:db8::1"), ("", ""), ("::1", "::1"),
  ])
  func `an IPv4 address that a socket of both families reports is named as IPv4`(address: String, name: String) {
    let lines = Mutex<[String]>([])
    let access = Self.control("anna:sesame", report: { line in lines.withLock { $0.append(line) } })
    _ = Self.decide(.watch, Self.request("Basic YW5uYTp3cm9uZw==", address: address), of: access)
    #expect(lines.withLock { $0 } == ["\(name): wrong password or token"])
  }

  @Test func `with open watching a wrong password leaves a viewer a viewer`() {
    let access = Self.control(operators: ["ben:secret"])
    #expect(Self.decide(.watch, Self.request("Basic YW5uYTp3cm9uZw=="), of: access) == .allowed(.viewer))
    #expect(access.refusals[.failedLogin] == 1)
  }

  @Test func `a login on the page gives a token until it is ended, or twelve hours pass`() throws {
    let access = Self.control("anna:sesame", operators: ["ben:secret"])
    #expect(access.login(user: "ben", password: Secret("x"), address: "::1", now: Self.now) == .rejected)
    guard
      case .token(let token, .operator) = access.login(
        user: "ben", password: Secret("secret"), address: "::1", now: Self.now)
    else {
      Issue.record("no token")
      return
    }
    let request = Self.request("Bearer \(token.text)")
    #expect(Self.decide(.control, request, of: access) == .allowed(.operator))
    let late = Self.now + .seconds(12 * 3600)
    #expect(Self.decide(.control, request, of: access, at: late) == .unauthorized(stale: false))
    access.endSession(token.text)
    #expect(Self.decide(.control, request, of: access) == .unauthorized(stale: false))
  }

  @Test func `many logins of a viewer end none of an operator`() throws {
    var settings = AccessSettings()
    settings.users = [
      Credentials(user: "anna", password: "sesame"), Credentials(user: "ben", password: "secret", role: .operator),
    ]
    let access = AccessControl(settings: settings, makeRandom: { .random(in: 0...UInt64.max) })
    func login(_ user: String, _ password: String) throws -> Secret {
      let result = access.login(user: user, password: Secret(password), address: "::1", now: Self.now)
      guard case .token(let token, _) = result else { throw CancellationError() }
      return token
    }
    let ben = try login("ben", "secret")
    let anna = try (0..<300).map { _ in try login("anna", "sesame") }
    // Tokens of the same random numbers are equal.
    #expect(Set([ben] + anna).count == 301)
    func decide(_ permission: Permission, _ token: Secret) -> AccessControl.Decision {
      Self.decide(permission, Self.request(token: token.text), of: access)
    }
    #expect(decide(.control, ben) == .allowed(.operator))
    let valid = anna.indices.filter { decide(.watch, anna[$0]) == .allowed(.viewer) }
    #expect(valid == Array(268..<300))
  }

  @Test func `logins of many viewers end none of an operator`() throws {
    var settings = AccessSettings()
    settings.users =
      (0..<9).map { Credentials(user: "viewer\($0)", password: "sesame") } + [
        Credentials(user: "ben", password: "secret", role: .operator)
      ]
    let access = AccessControl(settings: settings, makeRandom: { .random(in: 0...UInt64.max) })
    func login(_ user: String, _ password: String) throws -> Secret {
      let result = access.login(user: user, password: Secret(password), address: "::1", now: Self.now)
      guard case .token(let token, _) = result else { throw CancellationError() }
      return token
    }
    let ben = try login("ben", "secret")
    for viewer in 0..<9 { for _ in 0..<32 { _ = try login("viewer\(viewer)", "sesame") } }
    let decision = Self.decide(.control, Self.request(token: ben.text), of: access)
    #expect(decision == .allowed(.operator))
  }

  @Test func `a viewer's login lets no operator's password be guessed faster`() throws {
    let token = try #require(AccessToken(parsing: Self.viewerToken, role: .viewer))
    for isToken in [false, true] {
      let access = Self.control("anna:sesame", operators: ["ben:secret"], tokens: [token])
      let login = isToken ? Self.request(token: Self.viewerToken) : Self.request("Basic YW5uYTpzZXNhbWU=")
      #expect(Self.decide(.watch, login, of: access) == .allowed(.viewer))
      func guess(_ name: String) -> [Bool] {
        let text = Base64.encode(Array("\(name):wrong".utf8), isPadded: false)
        return (0..<9).map { _ in
          Self.decide(.watch, Self.request("Basic \(text)"), of: access) == .unauthorized(stale: false)
        }
      }
      let slowed = Array(repeating: true, count: 5) + Array(repeating: false, count: 4)
      #expect(guess("ben") == slowed)
      // A name that does not exist is treated as an operator's, so that neither is recognized.
      #expect(guess("nobody") == slowed)
      #expect(guess("anna").allSatisfy { $0 })
      // The operator's own login exempts these too.
      let other = "198.51.100.7"
      #expect(
        Self.decide(.control, Self.request("Basic YmVuOnNlY3JldA==", address: other), of: access)
          == .allowed(.operator))
      let text = Base64.encode(Array("ben:wrong".utf8), isPadded: false)
      for _ in 0..<9 {
        #expect(
          Self.decide(.watch, Self.request("Basic \(text)", address: other), of: access) == .unauthorized(stale: false))
      }
    }
  }

  @Test func `wrong tokens are slowed, of addresses and of fields apart, and never a right one`() throws {
    let token = try #require(AccessToken(parsing: Self.operatorToken, role: .operator))
    let access = Self.control(tokens: [token])
    func wrong(_ request: AccessRequest) -> [AccessControl.Decision] {
      (0..<6).map { _ in Self.decide(.control, request, of: access) }
    }
    let slowed =
      Array(repeating: AccessControl.Decision.unauthorized(stale: false), count: 5) + [.throttled(.seconds(1))]
    #expect(wrong(Self.request(token: "wrong")) == slowed)
    #expect(wrong(Self.request("Bearer wrong")) == slowed)
    // A page elsewhere, or another program of the machine, would lock the owner out.
    #expect(Self.decide(.control, Self.request(token: Self.operatorToken), of: access) == .allowed(.operator))
    #expect(Self.decide(.control, Self.request("Bearer \(Self.operatorToken)"), of: access) == .allowed(.operator))
  }

  @Test func `a request without credentials is counted where watching is protected`() {
    let access = Self.control("anna:sesame")
    #expect(Self.decide(.watch, Self.request(), of: access) == .unauthorized(stale: false))
    #expect(access.refusals[.unauthorized] == 1 && access.refusals[.forbidden] == 0)
    #expect(Self.decide(.watch, Self.request("Basic YW5uYTp3cm9uZw=="), of: access) == .unauthorized(stale: false))
    #expect(access.refusals[.unauthorized] == 1 && access.refusals[.failedLogin] == 1)
  }

  @Test func `a password with a scrypt hash is compared once, then remembered`() throws {
    let hash = try #require(
      PasswordHash(
        password: Array("secret".utf8), salt: [1, 2, 3, 4, 5, 6, 7, 8], cost: .init(logarithm: 2, parallelism: 1)))
    let access = Self.control(operators: ["ben:\(hash.text)"])
    let right = Self.request("Basic YmVuOnNlY3JldA==")
    let check = try #require(access.passwordCheck(for: right, now: Self.now))
    #expect(check.run())
    #expect(access.standing(of: check, now: Self.now) == .needed)
    #expect(Self.decide(.control, right, of: access) == .unauthorized(stale: false))
    access.remember(check, isRight: true)
    #expect(access.standing(of: check, now: Self.now) == .done)
    #expect(access.passwordCheck(for: right, now: Self.now) == nil)
    #expect(Self.decide(.control, right, of: access) == .allowed(.operator))
    // ben:wrong
    let wrong = Self.request("Basic YmVuOndyb25n")
    let wrongCheck = try #require(access.passwordCheck(for: wrong, now: Self.now))
    #expect(!wrongCheck.run())
    access.remember(wrongCheck, isRight: false)
    #expect(access.passwordCheck(for: wrong, now: Self.now) == nil)
    #expect(Self.decide(.control, wrong, of: access) == .unauthorized(stale: false))
    // Digest needs the password itself.
    #expect(
      access.challenges(for: .control, stale: false, address: "::1", allowsBasic: true, now: Self.now)
        == ["Basic realm=\"Vidicon\""])
  }

  @Test func `a login whose comparison is refused is throttled, and is no guess`() throws {
    let hash = try PasswordCheckQueueTests.hash(of: "secret")
    let access = Self.control(operators: ["ben:\(hash.text)"])
    var request = Self.request("Basic YmVuOnNlY3JldA==")
    request.refusedCheck = .seconds(1)
    #expect(Self.decide(.control, request, of: access) == .throttled(.seconds(1)))
    // With open watching it stays a viewer.
    #expect(Self.decide(.watch, request, of: access) == .allowed(.viewer))
    let login = access.login(
      user: "ben", password: Secret("secret"), address: "::1", refusedCheck: .seconds(1), now: Self.now)
    #expect(login == .throttled(.seconds(1)))
    #expect(access.refusals[.throttled] == 3 && access.refusals[.failedLogin] == 0)
  }

  @Test func `the user file adds users and tokens, and its change replaces them`() throws {
    let access = Self.control()
    access.setUserFile(try UserFile(parsing: "anna:sesame\noperator token=\(Self.operatorToken)\n"))
    #expect(access.isWatchingProtected)
    #expect(Self.decide(.watch, Self.request("Basic YW5uYTpzZXNhbWU="), of: access) == .allowed(.viewer))
    #expect(Self.decide(.control, Self.request(token: Self.operatorToken), of: access) == .allowed(.operator))
    access.setUserFile(try UserFile(parsing: ""))
    #expect(Self.decide(.control, Self.request(token: Self.operatorToken), of: access) == .unauthorized(stale: false))
    // Also that of a file which an editor has truncated.
    #expect(access.isWatchingProtected)
    #expect(Self.decide(.watch, Self.request(nil), of: access) == .unauthorized(stale: false))
  }

  @Test func `users and tokens of the settings are replaced, and others stay`() throws {
    let old = try #require(AccessToken(parsing: Self.viewerToken, role: .viewer))
    let access = Self.control("anna:sesame", tokens: [old])
    access.setUserFile(try UserFile(parsing: "operator token=\(Self.operatorToken)\n"))
    let version = access.usersVersion
    let login = access.login(user: "anna", password: Secret("sesame"), address: "::1", now: Self.now)
    guard case .token(let session, .viewer) = login else {
      Issue.record("\(login)")
      return
    }
    #expect(Self.decide(.watch, Self.request(token: session.text), of: access) == .allowed(.viewer))
    let ben = try #require(Credentials(parsing: "ben:secret", role: .viewer))
    access.setUsers([ben], tokens: [])
    #expect(access.usersVersion == version + 1)
    // anna:sesame, ben:secret
    #expect(Self.decide(.watch, Self.request("Basic YmVuOnNlY3JldA=="), of: access) == .allowed(.viewer))
    for request in [
      Self.request("Basic YW5uYTpzZXNhbWU="), Self.request(token: Self.viewerToken), Self.request(token: session.text),
    ] {
      #expect(Self.decide(.watch, request, of: access) == .unauthorized(stale: false))
    }
    #expect(Self.decide(.control, Self.request(token: Self.operatorToken), of: access) == .allowed(.operator))
    access.setUsers([], tokens: [])
    let made = access.makeToken(role: .operator)
    access.setUsers([], tokens: [])
    #expect(Self.decide(.control, Self.request(token: made.text), of: access) == .allowed(.operator))
    #expect(!access.isWatchingProtected)
    #expect(Self.decide(.watch, Self.request(nil), of: access) == .allowed(.viewer))
  }

  @Test func `a token made at the start is valid, and secrets do not print`() {
    let access = Self.control()
    let token = access.makeToken(role: .operator)
    #expect(token.text.utf8.count == 32)
    #expect(Self.decide(.control, Self.request(token: token.text), of: access) == .allowed(.operator))
    #expect(!access.isWatchingProtected)
    let credentials = Credentials(user: "anna", password: "sesame")
    var dumped = ""
    dump((credentials, token, [credentials]), to: &dumped)
    for text in ["\(credentials)", "\(token)", String(reflecting: credentials), dumped] {
      #expect(!text.contains("sesame") && !text.contains(token.text), "\(text)")
    }
  }
}
