import Authentication
import Testing

@testable import HTTPServer

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
