import Authentication
import Media
import Streaming
import Synchronization
import Testing

@testable import ControlAPI

@Suite("A configuration read again over HTTP", .timeLimit(.minutes(5)))
struct HTTPReloadTests {
  private static let path = "/api/reload"

  /// A program that reads its configuration again, as often as it is asked to.
  private final class Program: Sendable {
    let count = Mutex(0)
    /// The last text of a configuration that it has got.
    let text = Mutex<String?>(nil)
    private let result: Result<ReloadEntry, VidiconError>?

    init(_ result: Result<ReloadEntry, VidiconError>?) {
      self.result = result
    }

    func reload(_ text: String?) -> Result<ReloadEntry, VidiconError>? {
      self.count.withLock { $0 += 1 }
      self.text.withLock { $0 = text }
      return self.result
    }
  }

  private func withProgram(
    _ result: Result<ReloadEntry, VidiconError>?, access: AccessControl = .permissive(),
    _ body: (Program, _ port: Int) async throws -> Void
  ) async throws {
    let program = Program(result)
    var providers = WebServerProviders()
    providers.reload = { program.reload($0) }
    try await withServer(access: access, providers: providers) { _, port in try await body(program, port) }
  }

  @Test func `an operator gets a line for each change`() async throws {
    var entry = ReloadEntry()
    (entry.changes, entry.problems) = (["door: stopped"], ["httpPort: used when the program is started again"])
    try await self.withProgram(.success(entry)) { program, port in
      let response = try await HTTPControlTests.send("POST", "{}", to: Self.path, port: port)
      #expect(HTTPControlTests.status(response) == "200")
      #expect(
        response.body
          == #"{"changes":["door: stopped"],"problems":["httpPort: used when the program is started again"]}"#)
      #expect(program.count.withLock { $0 } == 1 && program.text.withLock { $0 } == nil)
    }
  }

  @Test(arguments: [
    (VidiconError(.invalidSpecification, subject: "a.yaml:3:5", cause: "unknown key", nextStep: "see the page"), "409"),
    (VidiconError(.notFound, subject: "a.yaml", cause: "there is no such file", nextStep: "see the page"), "409"),
    (VidiconError(.busy, subject: "it", cause: "it is being read", nextStep: "try again"), "503"),
  ])
  func `a file that cannot be used is one line, and not a mistake of the client`(
    error: VidiconError, status: String
  ) async throws {
    try await self.withProgram(.failure(error)) { _, port in
      let response = try await HTTPControlTests.send("POST", "{}", to: Self.path, port: port)
      #expect(HTTPControlTests.status(response) == status)
      let suffix = status == "409" ? "; the configuration stays as it was" : ""
      #expect(response.body == "\(error)\(suffix)\n")
    }
  }

  @Test func `only operators have it read, and no page of another site`() async throws {
    let operators = AccessControl.permissive { $0.control = .operators }
    let token = operators.makeToken(role: .operator)
    try await self.withProgram(.success(ReloadEntry()), access: operators) { program, port in
      let refused = try await HTTPControlTests.send("POST", "{}", to: Self.path, port: port)
      #expect(HTTPControlTests.status(refused) == "401")
      let bearer = "Authorization: Bearer \(token.text)"
      let elsewhere = try await HTTPControlTests.send(
        "POST", "{}", to: Self.path, port: port, bearer, "Origin: https://site.example")
      #expect(HTTPControlTests.status(elsewhere) == "403")
      // A form of another page can send this.
      let form = try await HTTPControlTests.send("POST", "{}", to: Self.path, type: "text/plain", port: port, bearer)
      #expect(HTTPControlTests.status(form) == "415")
      for body in ["", "[]", "1", #"{"file":"/etc/passwd"}"#] {
        let malformed = try await HTTPControlTests.send("POST", body, to: Self.path, port: port, bearer)
        #expect(HTTPControlTests.status(malformed) == "400", "\(body)")
      }
      let read = try await HTTPControlTests.send("GET", "", to: Self.path, port: port, bearer)
      #expect(HTTPControlTests.status(read) == "405")
      #expect(program.count.withLock { $0 } == 0)
      let allowed = try await HTTPControlTests.send("POST", "{}", to: Self.path, port: port, bearer)
      #expect(HTTPControlTests.status(allowed) == "200" && program.count.withLock { $0 } == 1)
    }
    // A viewer elsewhere that may change streams.
    let everybody = AccessControl.permissive { $0.control = .all }
    try await self.withProgram(.success(ReloadEntry()), access: everybody) { program, port in
      let viewer = try await HTTPControlTests.send("POST", "{}", to: Self.path, host: "cam", port: port)
      #expect(HTTPControlTests.status(viewer) == "403" && program.count.withLock { $0 } == 0)
    }
  }

  private static let configuration = "/api/configuration"

  /// Sends the text of a configuration.
  private func put(
    _ text: String, type: String = "application/yaml", host: String = "127.0.0.1", port: Int, token: Secret
  ) async throws -> (status: String, body: String) {
    let response = try await HTTPControlTests.send(
      "PUT", text, to: Self.configuration, type: type, host: host, port: port, "Authorization: Bearer \(token.text)")
    return (HTTPControlTests.status(response), response.body)
  }

  @Test func `the holder of the configuration token gives a text, and gets a line for each change`() async throws {
    let access = AccessControl.permissive { $0.control = .none }
    let token = access.makeConfigurationToken()
    var entry = ReloadEntry()
    entry.changes = ["door: started"]
    try await self.withProgram(.success(entry), access: access) { program, port in
      for text in ["streams: []\n", "# \u{E9}", "", String(repeating: "#", count: 1 << 20)] {
        let response = try await self.put(text, port: port, token: token)
        #expect(response.status == "200" && response.body == #"{"changes":["door: started"],"problems":[]}"#)
        #expect(program.text.withLock { $0 } == text)
      }
      let tooLong = try await self.put(String(repeating: "#", count: (1 << 20) + 1), port: port, token: token)
      #expect(tooLong.status == "413")
      for type in ["application/json", "text/plain"] {
        #expect(try await self.put("streams: []\n", type: type, port: port, token: token).status == "415")
      }
      let read = try await HTTPControlTests.send(
        "GET", "", to: Self.configuration, port: port, "Authorization: Bearer \(token.text)")
      #expect(HTTPControlTests.status(read) == "405")
      #expect(program.count.withLock { $0 } == 4)
    }
    let wrong = VidiconError(
      .invalidSpecification, subject: "a.yaml:3:5", cause: "unknown key", nextStep: "see the page")
    try await self.withProgram(.failure(wrong), access: access) { _, port in
      let response = try await self.put("x: y\n", port: port, token: token)
      #expect(response.status == "409" && response.body == "\(wrong); the configuration stays as it was\n")
    }
  }

  @Test func `no operator gives a configuration, and no client of another machine or page`() async throws {
    let access = AccessControl.permissive {
      $0.users = [Credentials(parsing: "ben:secret", role: .operator)].compactMap { $0 }
    }
    let (token, control) = (access.makeConfigurationToken(), access.makeToken(role: .operator))
    try await self.withProgram(.success(ReloadEntry()), access: access) { program, port in
      let text = "streams: []\n"
      // ben:secret
      for credentials in ["Bearer \(control.text)", "Basic YmVuOnNlY3JldA=="] {
        let refused = try await HTTPControlTests.send(
          "PUT", text, to: Self.configuration, type: "application/yaml", port: port, "Authorization: \(credentials)")
        #expect(HTTPControlTests.status(refused) == "403" && refused.body.contains("systemctl reload vidicon"))
      }
      let anonymous = try await HTTPControlTests.send(
        "PUT", text, to: Self.configuration, type: "application/yaml", port: port)
      #expect(HTTPControlTests.status(anonymous) == "401" && anonymous.body.contains("root's token"))
      let bearer = "Authorization: Bearer \(token.text)"
      for field in ["X-Forwarded-For: 192.0.2.7", "Origin: https://site.example"] {
        let elsewhere = try await HTTPControlTests.send(
          "PUT", text, to: Self.configuration, type: "application/yaml", port: port, bearer, field)
        #expect(HTTPControlTests.status(elsewhere) == "403", "\(field)")
      }
      #expect(try await self.put(text, host: "cam", port: port, token: token).status == "403")
      #expect(program.count.withLock { $0 } == 0)
      #expect(try await self.put(text, port: port, token: token).status == "200")
    }
  }

  @Test func `a server without a configuration file has none to read`() async throws {
    try await self.withProgram(nil) { _, port in
      let response = try await HTTPControlTests.send("POST", "{}", to: Self.path, port: port)
      #expect(HTTPControlTests.status(response) == "404" && response.body.contains("--config"))
    }
  }
}
