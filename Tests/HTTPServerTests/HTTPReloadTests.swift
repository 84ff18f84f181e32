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
    private let result: Result<ReloadEntry, VidiconError>?

    init(_ result: Result<ReloadEntry, VidiconError>?) {
      self.result = result
    }

    func reload() -> Result<ReloadEntry, VidiconError>? {
      self.count.withLock { $0 += 1 }
      return self.result
    }
  }

  private func withProgram(
    _ result: Result<ReloadEntry, VidiconError>?, access: AccessControl = .permissive(),
    _ body: (Program, _ port: Int) async throws -> Void
  ) async throws {
    let program = Program(result)
    var providers = WebServerProviders()
    providers.reload = { program.reload() }
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
      #expect(program.count.withLock { $0 } == 1)
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

  @Test func `a server without a configuration file has none to read`() async throws {
    try await self.withProgram(nil) { _, port in
      let response = try await HTTPControlTests.send("POST", "{}", to: Self.path, port: port)
      #expect(HTTPControlTests.status(response) == "404" && response.body.contains("--config"))
    }
  }
}
