import Authentication
import Testing

@testable import ControlAPI

extension HTTPControlTests {
  /// Anna watches with a password.
  private static func protected(_ change: (inout AccessSettings) -> Void = { _ in }) -> AccessControl {
    .permissive {
      $0.users = [Credentials(user: "anna", password: "sesame")]
      $0.control = .operators
      change(&$0)
    }
  }

  @Test(arguments: [(false, false, true), (false, true, false), (true, true, true)])
  func `over clear HTTP Basic is offered and accepted on this machine only, or with insecure Basic`(
    isInsecureAllowed: Bool, isElsewhere: Bool, isAccepted: Bool
  ) async throws {
    let access = Self.protected { $0.allowsInsecureBasic = isInsecureAllowed }
    try await self.withControl(access: access) { _, port in
      // A proxy forwards for others.
      let origin = isElsewhere ? "Via: 1.1 proxy" : "X-None: 1"
      let asked = try await Self.send("GET", "", to: Self.stream, port: port, origin)
      #expect(Self.status(asked) == "401")
      #expect(asked.head.contains("WWW-Authenticate: Digest"))
      #expect(asked.head.contains("WWW-Authenticate: Basic") == isAccepted)
      // anna:sesame
      let basic = "Authorization: Basic YW5uYTpzZXNhbWU="
      let answered = try await Self.send("GET", "", to: Self.stream, port: port, origin, basic)
      #expect(Self.status(answered) == (isAccepted ? "200" : "401"))
      #expect(access.refusals[.failedLogin] == (isAccepted ? 0 : 1))
    }
  }

  @Test(arguments: [
    ("GET", "/%zz", ""), ("GET", "/cam/1/snapshot.jpg?width=0", ""),
    ("PATCH", "/api/streams/cam/1", "{"), ("POST", "/api/session", "{}"),
  ])
  func `a request that is answered as malformed is counted`(method: String, path: String, body: String) async throws {
    let access = AccessControl.permissive()
    try await self.withControl(access: access) { _, port in
      let answer = try await Self.send(method, body, to: path, port: port)
      #expect(Self.status(answer) == "400")
      #expect(access.refusals[.malformed] == 1)
    }
  }

  @Test func `a page that sends several requests with a password that has a hash is answered at once`() async throws {
    let hash = try #require(PasswordHash(password: "sesame", salt: Array(0..<16)))
    let access = Self.protected { $0.users = [Credentials(user: "anna", password: hash.text)] }
    try await self.withControl(access: access) { _, port in
      let basic = "Authorization: Basic YW5uYTpzZXNhbWU="
      let statuses = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<6 {
          group.addTask { try await Self.status(Self.send("GET", "", to: Self.stream, port: port, basic)) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses == Array(repeating: "200", count: 6))
      // anna:wrong, then carl:sesame, whose name does not exist.
      for proof in ["YW5uYTp3cm9uZw==", "Y2FybDpzZXNhbWU="] {
        let wrong = try await Self.send("GET", "", to: Self.stream, port: port, "Authorization: Basic \(proof)")
        #expect(Self.status(wrong) == "401")
      }
      #expect(access.refusals[.failedLogin] == 2 && access.refusals[.throttled] == 0)
    }
  }

  @Test func `a publisher's token gives nothing over HTTP but what is open to everybody`() async throws {
    for isProtected in [false, true] {
      let access = isProtected ? Self.protected() : .permissive { $0.control = .operators }
      let token = access.makeToken(role: .publisher(stream: "cam"))
      try await self.withControl(access: access) { fixture, port in
        let bearer = "Authorization: Bearer \(token.text)"
        let change = try await Self.send("PUT", #"{"video":"plasma"}"#, to: Self.source, port: port, bearer)
        #expect(Self.status(change) == "403" && fixture.opened.isEmpty)
        for path in ["/api/recordings", "/api/devices"] {
          #expect(try await Self.status(Self.send("GET", "", to: path, port: port, bearer)) == "403", "\(path)")
        }
        let state = try await Self.send("GET", "", to: Self.stream, port: port, bearer)
        #expect(Self.status(state) == (isProtected ? "403" : "200"))
        #expect(state.body.contains(#""role":"publisher""#) == !isProtected)
        #expect(!state.body.contains(#""steerable":true"#))
        let session = try await Self.send("GET", "", to: "/api/session", port: port, bearer)
        #expect(session.body.contains(#""role":"publisher","steerable":false"#), "\(session.body)")
      }
    }
  }

  @Test func `responses to requests with credentials are not for shared caches`() async throws {
    // Watching is open, and the document is for everybody.
    try await self.withControl(access: .permissive { $0.control = .operators }) { _, port in
      func caching(_ path: String, _ fields: String...) async throws -> String? {
        let response = try await Self.send("GET", "", to: path, port: port, fields.first ?? "X-None: 1")
        return response.head.firstMatch(of: #/Cache-Control: ([^\r]*)/#).map { String($0.1) }
      }
      let document = "/api/openapi.json"
      let expected: [(String, String, String)] = [
        (document, "X-None: 1", "public, no-cache"), (document, "Authorization: Bearer x", "private, no-cache"),
        (document, "Authorization: Basic eDp5", "private, no-cache"), (document, "Cookie: a=b", "private, no-cache"),
        ("\(document)?token=x", "X-None: 1", "private, no-cache"),
        ("\(document)?a=b&ticket=x", "X-None: 1", "private, no-cache"),
        ("\(document)?tokens=x", "X-None: 1", "public, no-cache"), ("/cam/1/", "X-None: 1", "public, max-age=60"),
        ("/cam/1/?token=x", "X-None: 1", "no-store"), ("/cam/1/", "Authorization: Bearer x", "private, max-age=60"),
      ]
      for (path, field, text) in expected {
        let seen = try await caching(path, field)
        #expect(seen == text, "\(path) \(field)")
      }
    }
  }

  @Test func `viewers see the kind of the source, and operators its name`() async throws {
    let access = AccessControl.permissive { $0.control = .operators }
    let token = access.makeToken(role: .operator)
    try await self.withControl(access: access) { _, port in
      for path in ["/api/streams", Self.stream, Self.source] {
        let seen = try await Self.send("GET", "", to: path, port: port).body
        #expect(seen.contains(#""video":"file:…""#) && seen.contains(#""audio":"mic:…""#), "\(seen)")
        #expect(!seen.contains("a.mp4") && !seen.contains("/home"))
        let bearer = "Authorization: Bearer \(token.text)"
        let known = try await Self.send("GET", "", to: path, port: port, bearer).body
        #expect(known.contains(#""video":"file:/home/me/a.mp4""#), "\(known)")
      }
    }
  }

  @Test(arguments: [ControlPolicy.all, .operators, .machine, .none])
  func `pages of other sites neither log in nor out, with every rule of control`(control: ControlPolicy) async throws {
    let access = Self.protected {
      $0.users.append(Credentials(user: "ben", password: "secret", role: .operator))
      $0.control = control
    }
    try await self.withControl(access: access) { _, port in
      let login = #"{"name":"ben","password":"secret"}"#
      for origin in ["http://evil.example", "null", "https://127.0.0.1:1", "http://localhost"] {
        for (method, body) in [("POST", login), ("DELETE", ""), ("GET", "")] {
          let response = try await Self.send(method, body, to: "/api/session", port: port, "Origin: \(origin)")
          #expect(Self.status(response) == "403" && !response.body.contains("token"), "\(method) \(origin)")
        }
      }
      // A form, which needs no preflight request.
      let form = try await Self.send("POST", login, to: "/api/session", type: "text/plain", port: port)
      #expect(Self.status(form) == "415")
      let own = try await Self.send("POST", login, to: "/api/session", port: port, "Origin: http://127.0.0.1")
      #expect(Self.status(own) == "200" && own.body.contains(#""role":"operator","steerable":\#(control != .none)"#))
      let viewer = try await Self.send(
        "POST", #"{"name":"anna","password":"sesame"}"#, to: "/api/session", port: port)
      #expect(viewer.body.contains(#""steerable":\#(control == .all)"#), "\(viewer.body)")
    }
  }

  @Test(arguments: [
    (false, "X-None: 1", "password", "200"), (false, "Via: 1.1 p", "token", "403"),
    (true, "Via: 1.1 p", "password", "200"),
  ])
  func `over clear HTTP passwords log in on this machine only, or with insecure Basic`(
    isInsecureAllowed: Bool, field: String, way: String, status: String
  ) async throws {
    let access = Self.protected { $0.allowsInsecureBasic = isInsecureAllowed }
    try await self.withControl(access: access) { _, port in
      let session = try await Self.send("GET", "", to: "/api/session", port: port, field)
      #expect(session.body.contains(#""login":"\#(way)""#))
      let body = #"{"name":"anna","password":"sesame"}"#
      let login = try await Self.send("POST", body, to: "/api/session", port: port, field)
      #expect(Self.status(login) == status)
      #expect(login.body.contains("not encrypted") == (status == "403"))
      let wrong = try await Self.send(
        "POST", #"{"name":"anna","password":"wrong"}"#, to: "/api/session", port: port, field)
      #expect(wrong.body.contains("the name or the password is wrong") == (status == "200"))
    }
  }

  @Test func `a known proxy says that its client's connection is encrypted`() async throws {
    for (proxies, field, way) in [
      (["127.0.0.1"], "X-Forwarded-Proto: https", "password"), (["127.0.0.1"], "X-Forwarded-Proto: http", "token"),
      (["10.0.0.1"], "X-Forwarded-Proto: https", "token"),
    ] {
      try await self.withControl(access: Self.protected { $0.proxies = proxies }) { _, port in
        let session = try await Self.send("GET", "", to: "/api/session", port: port, field, "X-Forwarded-For: 10.9.9.9")
        #expect(session.body.contains(#""login":"\#(way)""#), "\(proxies) \(field)")
      }
    }
  }

  @Test func `without control there is no login`() async throws {
    try await self.withControl(access: .permissive { $0.control = .none }) { _, port in
      let session = try await Self.send("GET", "", to: "/api/session", port: port)
      #expect(session.body == #"{"login":"none","role":"viewer","steerable":false}"#)
      let entry = try await Self.send("GET", "", to: Self.stream, port: port)
      #expect(entry.body.contains(#""login":"none""#))
    }
  }

  @Test(arguments: [RecordingsPolicy.operators, .viewers])
  func `recordings are for operators, and with the policy for viewers, who do not record`(
    policy: RecordingsPolicy
  ) async throws {
    let access = Self.protected { $0.recordings = policy }
    try await self.withControl(access: access) { _, port in
      let basic = "Authorization: Basic YW5uYTpzZXNhbWU="
      func status(_ method: String, _ path: String, _ fields: String...) async throws -> String {
        let body = method == "POST" ? #"{"action":"start"}"# : ""
        return try await Self.status(
          Self.send(method, body, to: path, port: port, fields.first ?? "X-None: 1"))
      }
      let statuses = [
        try await status("GET", "/api/recordings"), try await status("GET", "/api/recordings", basic),
        try await status("POST", "\(Self.stream)/recording", basic),
      ]
      #expect(statuses == ["401", policy == .viewers ? "200" : "403", "403"])
    }
  }
}
