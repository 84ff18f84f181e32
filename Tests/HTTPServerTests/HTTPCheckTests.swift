import Authentication
import Media
import Synchronization
import TestSupport
import Testing

@testable import ControlAPI
@testable import HTTPServer

@Suite("A check of the machine over HTTP", .timeLimit(.minutes(5)))
struct HTTPCheckTests {
  private static let path = "/api/check"

  /// A program that checks its machine, as often as it is asked to, once its gate is open.
  private final class Program: Sendable {
    let count = Mutex(0)
    let hasBegun = AsyncGate()
    let mayEnd = AsyncGate()
    private let entry: CheckEntry?

    init(_ entry: CheckEntry?) {
      self.entry = entry
    }

    func check() async -> CheckEntry? {
      let count = self.count.withLock { count in
        count += 1
        return count
      }
      self.hasBegun.open()
      // One task waits at a gate.
      if count == 1 { await self.mayEnd.pass() }
      return self.entry
    }
  }

  /// A gate at which tasks wait, without a thread, until it is opened.
  private final class AsyncGate: Sendable {
    private let stream: AsyncStream<Never>
    private let continuation: AsyncStream<Never>.Continuation

    init() {
      (self.stream, self.continuation) = AsyncStream.makeStream()
    }

    func open() { self.continuation.finish() }

    func pass() async {
      for await _ in self.stream {}
    }
  }

  private static let entry = CheckEntry(
    verdict: "ok", findings: [.init(part: "clock", subject: "clock", verdict: "ok", meaning: "synchronized")])

  private func withProgram(
    _ entry: CheckEntry? = Self.entry, access: AccessControl = .permissive(),
    interval: MediaDuration = .seconds(3600), _ body: (Program, _ port: Int) async throws -> Void
  ) async throws {
    let program = Program(entry)
    var providers = WebServerProviders()
    providers.check = { await program.check() }
    var settings = HTTPServerSettings.patient()
    settings.limits.checkInterval = interval
    try await withServer(settings, access: access, providers: providers) { _, port in
      // A test that throws leaves no request that waits.
      defer { program.mayEnd.open() }
      try await body(program, port)
    }
  }

  private static func check(port: Int) async throws -> (head: String, body: String) {
    try await HTTPControlTests.send("POST", "{}", to: Self.path, port: port)
  }

  @Test func `an operator gets each finding with what mends it, and the age of the report`() async throws {
    var entry = CheckEntry(
      verdict: "fault", findings: [.init(part: "ports", subject: "HTTP port 80", verdict: "fault", meaning: "in use")])
    entry.findings[0].command = "sudo ss -lnpt"
    try await self.withProgram(entry) { program, port in
      program.mayEnd.open()
      let response = try await Self.check(port: port)
      #expect(HTTPControlTests.status(response) == "200")
      #expect(
        response.body
          == #"{"age":0,"findings":[{"command":"sudo ss -lnpt","meaning":"in use","part":"ports","#
          + #""subject":"HTTP port 80","verdict":"fault"}],"verdict":"fault"}"#)
    }
  }

  @Test func `requests during a check, and soon after it, get its report`() async throws {
    try await self.withProgram { program, port in
      let bodies = try await withThrowingTaskGroup(of: String.self) { group -> [String] in
        for _ in 1...4 { group.addTask { try await Self.check(port: port).body } }
        await program.hasBegun.pass()
        program.mayEnd.open()
        return try await group.reduce(into: []) { $0.append($1) }
      }
      let later = try await Self.check(port: port).body
      let meaning = #""meaning":"synchronized""#
      #expect(bodies.count == 4 && bodies.allSatisfy { $0.contains(meaning) } && later.contains(meaning))
      #expect(program.count.withLock { $0 } == 1)
    }
  }

  @Test func `later requests begin a check of their own`() async throws {
    try await self.withProgram(interval: .zero) { program, port in
      program.mayEnd.open()
      for count in 1...3 {
        _ = try await Self.check(port: port)
        #expect(program.count.withLock { $0 } == count)
      }
    }
  }

  @Test func `only operators have the machine checked, and no page of another site`() async throws {
    let operators = AccessControl.permissive { $0.control = .operators }
    let token = operators.makeToken(role: .operator)
    try await self.withProgram(access: operators) { program, port in
      program.mayEnd.open()
      let refused = try await Self.check(port: port)
      #expect(HTTPControlTests.status(refused) == "401")
      let bearer = "Authorization: Bearer \(token.text)"
      let elsewhere = try await HTTPControlTests.send(
        "POST", "{}", to: Self.path, port: port, bearer, "Origin: https://site.example")
      #expect(HTTPControlTests.status(elsewhere) == "403")
      // A form of another page can send this.
      let form = try await HTTPControlTests.send("POST", "{}", to: Self.path, type: "text/plain", port: port, bearer)
      #expect(HTTPControlTests.status(form) == "415")
      for body in ["", "[]", #"{"limit":1}"#] {
        let malformed = try await HTTPControlTests.send("POST", body, to: Self.path, port: port, bearer)
        #expect(HTTPControlTests.status(malformed) == "400", "\(body)")
      }
      // An image of another page requests this.
      let read = try await HTTPControlTests.send("GET", "", to: Self.path, port: port, bearer)
      #expect(HTTPControlTests.status(read) == "405")
      #expect(program.count.withLock { $0 } == 0)
      let allowed = try await HTTPControlTests.send("POST", "{}", to: Self.path, port: port, bearer)
      #expect(HTTPControlTests.status(allowed) == "200" && program.count.withLock { $0 } == 1)
    }
    // A viewer elsewhere that may change streams.
    let everybody = AccessControl.permissive { $0.control = .all }
    try await self.withProgram(access: everybody) { program, port in
      let viewer = try await HTTPControlTests.send("POST", "{}", to: Self.path, host: "cam", port: port)
      #expect(HTTPControlTests.status(viewer) == "403" && program.count.withLock { $0 } == 0)
    }
  }

  @Test func `a server of a program without a check names the command that has one`() async throws {
    try await self.withProgram(nil) { program, port in
      program.mayEnd.open()
      for _ in 1...2 {
        let response = try await Self.check(port: port)
        #expect(HTTPControlTests.status(response) == "404" && response.body.contains("vidicon check"))
      }
    }
  }

  @Test func `a report has the age that it has when it is requested, and is replaced when its time is over`() async {
    let clock = ManualClock()
    let reports = CheckReports(interval: .seconds(10)) { clock.now }
    let program = Program(Self.entry)
    program.mayEnd.open()
    func age() async -> Int? { await reports.report { await program.check() }?.age }
    #expect(await age() == 0)
    clock.advance(by: .milliseconds(9_999))
    #expect(await age() == 9)
    #expect(program.count.withLock { $0 } == 1)
    clock.advance(by: .milliseconds(1))
    #expect(await age() == 0)
    #expect(program.count.withLock { $0 } == 2)
  }
}
