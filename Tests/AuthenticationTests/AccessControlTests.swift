import Media
import Synchronization
import TestSupport
import Testing

@testable import Authentication

@Suite("Roles and permissions")
struct AccessControlTests {
  static let now = MediaTime(nanoseconds: 1_000_000_000_000)
  static let operatorToken = "0123456789abcdef"
  static let viewerToken = "fedcba9876543210"

  static func control(
    _ users: String..., operators: [String] = [], tokens: [AccessToken] = [],
    report: @escaping @Sendable (String) -> Void = { _ in }, change: (inout AccessSettings) -> Void = { _ in }
  ) -> AccessControl {
    var settings = AccessSettings()
    settings.users =
      users.compactMap { Credentials(parsing: $0) } + operators.compactMap { Credentials(parsing: $0, role: .operator) }
    settings.tokens = tokens
    change(&settings)
    return AccessControl(settings: settings, makeRandom: { 7 }, report: report)
  }

  static func request(
    _ authorization: String? = nil, method: String = "GET", token: String? = nil, address: String = "192.0.2.1",
    allowsBasic: Bool = true, changesState: Bool = false
  ) -> AccessRequest {
    AccessRequest(
      method: method, authorization: authorization.map { [$0] } ?? [], token: token, address: address,
      allowsBasic: allowsBasic, changesState: changesState)
  }

  static func decide(
    _ permission: Permission, _ request: AccessRequest, of access: AccessControl, local: Bool = false,
    at now: MediaTime = Self.now
  ) -> AccessControl.Decision {
    access.decide(permission, for: access.identify(request, covers: { $0 == "/x" }, now: now), isOnThisMachine: local)
  }

  @Test func `by default everybody watches, and control needs an operator even on this machine`() {
    let access = Self.control()
    #expect(Self.decide(.watch, Self.request(), of: access) == .allowed(.viewer))
    for local in [false, true] {
      for permission in [Permission.control, .readRecordings, .publish(stream: "live")] {
        #expect(Self.decide(permission, Self.request(), of: access, local: local) == .unauthorized(stale: false))
      }
    }
    #expect(access.refusals[.forbidden] == 6)
    #expect(access.refusals[.failedLogin] == 0)
  }

  @Test(arguments: [
    (ControlPolicy.operators, false, false), (.machine, false, true), (.all, true, true), (.none, false, false),
  ])
  func `the control policy determines the clients that control without a password`(
    policy: ControlPolicy, remotely: Bool, locally: Bool
  ) {
    let access = Self.control(change: { $0.control = policy })
    for permission in [Permission.control, .readRecordings] {
      // The past is not open as live video is: it is open to operators, unless the policy of recordings says otherwise.
      for (local, isAllowed) in [(false, remotely && permission == .control), (true, locally)] {
        let decision = Self.decide(permission, Self.request(), of: access, local: local)
        #expect((decision == .allowed(local ? .operator : .viewer)) == isAllowed, "\(permission) \(local)")
      }
    }
  }

  @Test func `with control none operators watch and read recordings, but change nothing`() throws {
    let token = try #require(AccessToken(parsing: Self.operatorToken, role: .operator))
    let access = Self.control(tokens: [token], change: { $0.control = .none })
    let request = Self.request("Bearer \(Self.operatorToken)")
    #expect(Self.decide(.control, request, of: access) == .forbidden)
    #expect(Self.decide(.readRecordings, request, of: access) == .allowed(.operator))
  }

  @Test func `a viewer's password protects watching, an operator's does not, and a viewer controls nothing`() {
    let open = Self.control(operators: ["ben:secret"])
    #expect(Self.decide(.watch, Self.request(), of: open) == .allowed(.viewer))
    let closed = Self.control("anna:sesame", operators: ["ben:secret"])
    #expect(Self.decide(.watch, Self.request(), of: closed) == .unauthorized(stale: false))
    // anna:sesame, ben:secret
    let (anna, ben) = (Self.request("Basic YW5uYTpzZXNhbWU="), Self.request("Basic YmVuOnNlY3JldA=="))
    #expect(Self.decide(.watch, anna, of: closed) == .allowed(.viewer))
    #expect(Self.decide(.control, anna, of: closed) == .forbidden)
    #expect(Self.decide(.readRecordings, anna, of: closed) == .forbidden)
    for permission in [Permission.watch, .control, .readRecordings, .publish(stream: "x"), .readPublisher(stream: "x")]
    {
      #expect(Self.decide(permission, ben, of: closed) == .allowed(.operator))
    }
    let shared = Self.control("anna:sesame", change: { $0.recordings = .viewers })
    #expect(Self.decide(.readRecordings, anna, of: shared) == .allowed(.viewer))
    #expect(Self.decide(.readRecordings, Self.request(), of: shared) == .unauthorized(stale: false))
  }

  @Test func `a publisher sends its own stream, controls nothing, and watches only what is open`() throws {
    let token = try #require(AccessToken(parsing: Self.viewerToken, role: .publisher(stream: "door")))
    let request = Self.request(token: Self.viewerToken)
    let open = Self.control(tokens: [token])
    #expect(Self.decide(.publish(stream: "door"), request, of: open) == .allowed(.publisher(stream: "door")))
    #expect(Self.decide(.publish(stream: "yard"), request, of: open) == .forbidden)
    let closed = Self.control("a:b", tokens: [token])
    for access in [open, closed] {
      #expect(Self.decide(.readPublisher(stream: "door"), request, of: access) == .allowed(.publisher(stream: "door")))
      #expect(Self.decide(.readPublisher(stream: "yard"), request, of: access) == .forbidden)
      #expect(Self.decide(.readPublisher(stream: "door"), Self.request(), of: access) == .unauthorized(stale: false))
    }
    #expect(Self.decide(.control, request, of: open) == .forbidden)
    #expect(Self.decide(.watch, request, of: open) == .allowed(.publisher(stream: "door")))
    #expect(Self.decide(.watch, request, of: Self.control("a:b", tokens: [token])) == .forbidden)
    #expect(Self.decide(.readRecordings, request, of: open) == .forbidden)
  }

  @Test(arguments: [ControlPolicy.operators, .machine, .all, .none], [false, true])
  func `a publisher's password and token give nothing but their stream, whatever the policies`(
    policy: ControlPolicy, isOnThisMachine: Bool
  ) throws {
    let carl = try #require(Credentials(parsing: "carl:password", role: .publisher(stream: "door")))
    let access = Self.control(change: {
      $0.users = [carl] + [Credentials(parsing: "anna:sesame")].compactMap { $0 }
      $0.control = policy
      $0.recordings = .viewers
    })
    let made = access.makeToken(role: .publisher(stream: "yard"))
    // carl:password
    let requests = [
      ("door", Self.request("Basic Y2FybDpwYXNzd29yZA==")), ("yard", Self.request("Bearer \(made.text)")),
      ("yard", Self.request(token: made.text)),
    ]
    for (stream, request) in requests {
      func decide(_ permission: Permission) -> AccessControl.Decision {
        Self.decide(permission, request, of: access, local: isOnThisMachine)
      }
      #expect(decide(.publish(stream: stream)) == .allowed(.publisher(stream: stream)))
      for other in ["door", "yard", "doo", "door/2", ""] where other != stream {
        #expect(decide(.publish(stream: other)) == .forbidden, "\(other)")
      }
      for permission in [Permission.watch, .control, .readRecordings] { #expect(decide(permission) == .forbidden) }
    }
    // Viewers send nothing.
    let anna = Self.decide(.publish(stream: "door"), Self.request("Basic YW5uYTpzZXNhbWU="), of: access)
    #expect(anna == .forbidden)
  }

  @Test(arguments: [ControlPolicy.operators, .machine, .all, .none])
  func `only the token that is made for it gives a configuration, on this machine, whatever the policy`(
    policy: ControlPolicy
  ) {
    let numbers = Mutex<UInt64>(0)
    var settings = AccessSettings()
    settings.control = policy
    settings.users = [Credentials(parsing: "ben:secret", role: .operator)].compactMap { $0 }
    let access = AccessControl(
      settings: settings,
      makeRandom: {
        numbers.withLock { number in
          number += 1
          return number
        }
      })
    func decide(_ authorization: String?, local: Bool = true) -> AccessControl.Decision {
      Self.decide(.configure, Self.request(authorization, method: "PUT"), of: access, local: local)
    }
    // ben:secret
    let operators = ["Bearer \(access.makeToken(role: .operator).text)", "Basic YmVuOnNlY3JldA=="]
    for authorization in operators { #expect(decide(authorization) == .forbidden, "\(authorization)") }
    let first = "Bearer \(access.makeConfigurationToken().text)"
    #expect(decide(first) == .allowed(.operator))
    #expect(decide(first, local: false) == .forbidden)
    for authorization in operators { #expect(decide(authorization) == .forbidden, "\(authorization)") }
    for authorization in [nil, "Bearer 0123456789abcdef"] {
      #expect(decide(authorization) == .unauthorized(stale: false))
    }
    let second = "Bearer \(access.makeConfigurationToken().text)"
    #expect(decide(first) == .forbidden && decide(second) == .allowed(.operator))
  }

  @Test func `the token of a stream's publishers is known where it was given or made, not from the user file`() throws {
    let token = try #require(AccessToken(parsing: Self.viewerToken, role: .publisher(stream: "door")))
    let access = Self.control(tokens: [token])
    let made = access.makeToken(role: .publisher(stream: "yard"))
    access.setUserFile(try UserFile(parsing: "publisher=gate token=fedcba9876543210"))
    _ = access.makeToken(role: .operator)
    #expect(access.publisherToken(of: "door")?.text == Self.viewerToken)
    #expect(access.publisherToken(of: "yard")?.text == made.text)
    #expect(access.publisherToken(of: "gate") == nil && access.publisherToken(of: "") == nil)
  }

  @Test func `the token that is made for the publishers of a stream has the 128 bits of two random numbers`() throws {
    let numbers = Mutex<[UInt64]>([])
    let access = AccessControl(
      settings: AccessSettings(),
      makeRandom: {
        numbers.withLock { numbers in
          let next = 0x9E37_79B9_7F4A_7C15 &* UInt64(numbers.count + 1)
          numbers.append(next)
          return next
        }
      })
    var tokens: Set<String> = []
    for stream in ["door", "yard"] {
      let text = access.makeToken(role: .publisher(stream: stream)).text
      let bytes = try #require(Hexadecimal.decode(text))
      let words = numbers.withLock { Array($0.suffix(2)) }
      let expected = words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
      #expect(bytes.count == 16 && bytes == expected, "\(text)")
      tokens.insert(text)
    }
    #expect(tokens.count == 2)
  }

  @Test func `a request to send a stream is asked for its publisher's scheme`() throws {
    let access = Self.control()
    _ = access.makeToken(role: .publisher(stream: "door"))
    func challenges(_ stream: String) -> [String] {
      access.challenges(
        for: .publish(stream: stream), stale: false, address: "192.0.2.1", allowsBasic: false, now: Self.now)
    }
    #expect(challenges("door").contains { $0.hasPrefix("Bearer") })
    access.setUserFile(try UserFile(parsing: "publisher=yard carl:password"))
    #expect(challenges("yard").contains { $0.hasPrefix("Digest") })
    #expect(!challenges("door").contains { $0.hasPrefix("Digest") })
  }

  /// RFC 7617 §2 and §2.1.
  @Test func `challenges list the schemes that can give the permission`() throws {
    let token = try #require(AccessToken(parsing: Self.operatorToken, role: .operator))
    func schemes(_ access: AccessControl, _ permission: Permission, allowsBasic: Bool = true) -> [Substring] {
      access.challenges(
        for: permission, stale: false, address: "::1", allowsBasic: allowsBasic, now: Self.now
      ).map { $0.prefix { $0 != " " } }
    }
    let access = Self.control("a:b", tokens: [token])
    #expect(schemes(access, .watch) == ["Digest", "Digest", "Basic"])
    #expect(schemes(access, .watch, allowsBasic: false) == ["Digest", "Digest"])
    #expect(schemes(access, .control) == ["Bearer"])
    #expect(
      schemes(Self.control(operators: ["a:b"], tokens: [token]), .control) == ["Digest", "Digest", "Basic", "Bearer"])
  }

  @Test func `requests for foreign hosts are counted, and reported once a minute`() {
    let lines = Mutex<[String]>([])
    let access = Self.control(report: { line in lines.withLock { $0.append(line) } })
    for _ in 0..<3 { access.refuseHost("evil.example", now: Self.now) }
    access.refuseHost("e\u{9b}2J\u{202e}\n.example", now: Self.now + .seconds(60))
    #expect(access.refusals[.badHost] == 4)
    #expect(lines.withLock { $0.count } == 2)
    #expect(lines.withLock { $0.last?.contains("3 requests") == true })
    #expect(lines.withLock { $0.last?.contains("\"e_2J__.example\"") == true })
  }
}
