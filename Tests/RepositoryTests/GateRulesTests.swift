import Testing

/// Every rule finds what breaks it, and only that; and the tests of the gate break none.
@Suite("Rules of the gate's tests")
struct GateRulesTests {
  private func text(_ lines: String...) -> SwiftText {
    SwiftText(path: "/Tests/EndToEndTests/Smoke/A.swift", text: lines.joined(separator: "\n") + "\n")
  }

  private func lines(_ violations: [Violation]) -> [Int] { violations.map(\.line) }

  private static let files = Result { GateRules.gate(among: try Repository.swiftFiles(in: "Tests")) }

  private func gate() throws -> [SwiftText] {
    let files = try Self.files.get()
    #expect(files.count > 300)
    return files
  }

  @Test func `what smoke tests call of the long suite is judged`() throws {
    let files = try self.gate()
    for suite in ["Access", "Cache", "LiveControl", "RecordedFiles"] {
      #expect(files.contains { $0.path == "/Tests/EndToEndTests/\(suite)Tests.swift" }, "\(suite)")
    }
    #expect(!files.contains { $0.path == "/Tests/EndToEndTests/SynchronyTests.swift" })
  }

  @Test func `the gate is the unit rooms, the smoke set and its harness`() {
    #expect(GateRules.apply(to: "/Tests/RTPTests/A.swift") && GateRules.apply(to: "/Tests/EndToEndTests/Smoke/A.swift"))
    #expect(GateRules.apply(to: "/Tests/EndToEndTests/Harness/A.swift"))
    #expect(!GateRules.apply(to: "/Tests/EndToEndTests/JoinTests.swift"))
  }

  @Test func `the functions of a suite that smoke tests name are judged, and its tests are not`() {
    let files = [
      ("Smoke/A.swift", "typealias Files = EndToEnd.Files"), ("Harness/B.swift", "let a = 1"),
      (
        "FilesTests.swift",
        "extension EndToEnd {\n@Suite(\"Files\")\nstruct Files {\n@Test func `a`() {\nalarm(1)\n}\n"
          + "static func play() { alarm(2); Plays.look() }\n}\n}"
      ),
      (
        "PlaysTests.swift",
        "extension EndToEnd.Plays {\n@Test(\n.tags(.timing)\n)\nfunc `b`() { alarm(3) }\n"
          + "func look() { alarm(4) }\n}"
      ),
      ("OtherTests.swift", "extension EndToEnd {\n@Suite struct Other { func a() { alarm(5) } }\n}"),
    ].map { SwiftText(path: "/Tests/EndToEndTests/\($0.0)", text: $0.1 + "\n") }
    let gate = GateRules.gate(among: files)
    let names = gate.map { $0.path.split(separator: "/").last ?? "" }
    #expect(names == ["A.swift", "B.swift", "FilesTests.swift", "PlaysTests.swift"])
    #expect(self.lines(gate.flatMap(GateRules.shortLimits)) == [7, 6])
  }

  @Test(arguments: [
    "#expect(ContinuousClock.now - start < .seconds(1))", "#expect(.now - start <= .seconds(1))",
    "try #require(StreamClock.system.now() - start < limit)",
    "#expect((a...b).contains(ContinuousClock().now - start))",
  ]) func `an upper bound on real time is found`(code: String) {
    #expect(self.lines(GateRules.realTimeBounds(in: self.text("let a = 1", code))) == [2])
    #expect(GateRules.realTimeBounds(in: self.text("// Safe because of this.", code)) == [])
  }

  @Test func `a bound on a constant of real time is found`() {
    let text = self.text("let took = ContinuousClock.now - start", "#expect(took < .seconds(1))", "#expect(other < 1)")
    #expect(self.lines(GateRules.realTimeBounds(in: text)) == [2])
    for took in ["took = StreamClock.system.now() - start", "let took = await clock.measure {"] {
      let text = self.text(took, "#expect(", "a && took", "< .seconds(1), \"late\")", "#expect(took > .seconds(1))")
      #expect(self.lines(GateRules.realTimeBounds(in: text)) == [2])
    }
    #expect(GateRules.realTimeBounds(in: self.text("#expect(", "onQuietMachine(.now - start < .seconds(1)))")) == [])
  }

  @Test(arguments: [
    "#expect(ContinuousClock.now - start >= .seconds(1))", "#expect(frame.time - start < .seconds(1))",
    "#expect(onQuietMachine(ContinuousClock.now - start < .seconds(1)))", "while ContinuousClock.now - start < limit {",
  ]) func `a lower bound, another time, and a figure of the long suite are allowed`(code: String) {
    #expect(GateRules.realTimeBounds(in: self.text(code)) == [])
  }

  @Test func `no test of the gate has an upper bound on real time`() throws {
    let violations = try self.gate().flatMap(GateRules.realTimeBounds)
    #expect(violations == [])
  }

  @Test func `limits of five minutes and more are allowed`() {
    let text = self.text("@Suite(.timeLimit(.minutes(5)))", "@Test(.timeLimit(.minutes(1))) func a() {}")
    #expect(self.lines(GateRules.shortLimits(in: text)) == [2])
  }

  @Test(arguments: [
    "alarm(240)", "_ = opened.wait(until: StreamClock.system.now() + .seconds(5)) { true }",
    "let end = ContinuousClock.now + .seconds(299)", "gate.wait(timeout: .now() + .seconds(1_0))",
    "var limit = timeval(tv_sec: 60, tv_usec: 0)", "guard poll(&interest, 1, 60_000) == 1 else { return nil }",
    "client.connectTimeout(.seconds(10))", "collector.frames(2, within: 120)", "collector.wait(within: 30) { $0 }",
    "_ = await child.end(within: .seconds(5))", "limits.whole = .seconds(240)",
    "(limits.whole, limits.play) = (.seconds(30), .seconds(2))", "Limits(frame: .seconds(60))",
    "let source = Source(timeout: .seconds(60))", "settings.timeout = .seconds(10)",
    // Safe because of what is tested here.
    #"let curl = "curl --max-time 280 --silent""#,
  ]) func `a short limit of a process or a wait is found`(code: String) {
    #expect(self.lines(GateRules.shortLimits(in: self.text(code))) == [1])
    #expect(GateRules.shortLimits(in: self.text("// Safe because of this.", code)) == [])
  }

  @Test(arguments: [
    "alarm(300)", "let end = ContinuousClock.now + .seconds(1_000)", "self.now + .seconds(5)",
    "let past = StreamClock.system.now() - .seconds(1)", "gate.wait(timeout: .now() + .seconds(300))",
    "var limit = timeval(tv_sec: 300, tv_usec: 0)", "guard poll(&interest, 1, 300_000) == 1 else { return nil }",
    "let isReady = poll(&interest, 1, 0) == 1", "monitor.poll()", "collector.frames(2)",
    "collector.wait(within: 300) { $0 }", "connection.waitForEnd(within: 0)", "expectSteps(times, within: 20_000)",
    "_ = await child.end(within: MachineShare.timeout(.seconds(5)))", "limits.whole = .seconds(3)",
    "settings.sourceTimeout = .seconds(1000)", "Source(timeout: .milliseconds(20))",
    "VideoSettings(sourceTimeout: .seconds(1000), keyframeInterval: .seconds(100))", "curl(maxTime: 1)",
  ]) func `a long limit of a process or a wait is allowed, and a time of the test's own`(code: String) {
    #expect(GateRules.shortLimits(in: self.text(code)) == [])
  }

  @Test func `no test of the gate has a limit under five minutes`() throws {
    let violations = try self.gate().flatMap(GateRules.shortLimits)
    #expect(violations == [])
  }

  @Test(arguments: [
    "while try await answer() != 200 {}", "for await event in events {", "for try await piece in inbound {",
    "semaphore.wait()", "while !isReady { await Task.yield() }", "while !isOpen({ $0 }) { sched_yield() }",
    "loop: while try head == file { head = try await next }", "process.waitUntilExit()",
    "let bytes = pipe.fileHandleForReading.readDataToEndOfFile()",
    "repeat {\nhead = try await client.head()\n} while head.isEmpty", "while !isDone {\nif a { b() }\nawait show()\n}",
  ]) func `a wait without a limit is found`(code: String) {
    #expect(self.lines(GateRules.unboundedWaits(in: self.text(code))) == [1])
    #expect(GateRules.unboundedWaits(in: self.text("// Safe because of this.", code)) == [])
  }

  @Test(arguments: [
    ["while StreamClock.system.now() < end {}"], ["try channel.close().wait()"], ["gate.wait(timeout: .now() + 300)"],
    ["for await result in group {"], ["@Suite(.timeLimit(.minutes(5)))", "for await event in events {"],
    ["while a < b {"], ["repeat {", "count += 1", "} while count < 3", "await show()"],
    ["while !isReady, ContinuousClock.now < end { await Task.yield() }"],
    ["while !isReady {", "try Task.checkCancellation()", "await show()", "}"],
    ["while let event = await events.next() {", "}"], ["process.finish()"],
    [
      "@Test(.timeLimit(.minutes(5)))", "func `a`() async {", "for await event in events {", "}", "}",
    ],
  ]) func `a wait with a limit is allowed`(code: [String]) {
    #expect(
      GateRules.unboundedWaits(in: SwiftText(path: "/Tests/A.swift", text: code.joined(separator: "\n"))) == [])
  }

  @Test func `a time limit is that of its suite or test, and of no other`() {
    let text = self.text(
      "@Suite(.timeLimit(.minutes(5)))", "struct A {", "func a() async { for await event in events {} }", "}",
      "struct B {",
      "func b() async { for await event in events {} }", "}")
    #expect(self.lines(GateRules.unboundedWaits(in: text)) == [6])
  }

  @Test func `no test of the gate waits for ever`() throws {
    let violations = try self.gate().flatMap(GateRules.unboundedWaits)
    #expect(violations == [])
  }

  @Test(arguments: [
    "let count = recv(socket, &bytes, 9, 0)", "let client = accept(listener, nil, nil)",
    "while read(descriptor, &byte, 1) == 1 {}", "Glibc.recvfrom(sockets[0], &bytes, 8, 0, nil, nil)",
  ]) func `a read without a limit is found`(code: String) {
    #expect(self.lines(GateRules.unlimitedReads(in: self.text("let a = 1", code))) == [2])
    #expect(GateRules.unlimitedReads(in: self.text("// Safe because of this.", code)) == [])
  }

  @Test(arguments: [
    ["recv(socket, &bytes, 9, Int32(MSG_DONTWAIT))"], ["file.read(upToCount: 1)"], ["connection.recv(1)"],
    ["func accept(_ count: Int) {"], ["read(plane, width: 3)"],
    ["guard poll(&interest, 1, 300_000) == 1 else { return }", "recv(socket, &bytes, 9, 0)"],
    ["WaitLimit.apply(to: socket)", "recv(socket, &bytes, 9, 0)"],
    ["_ = fcntl(socket, F_SETFL, O_NONBLOCK)", "recv(socket, &bytes, 9, 0)"],
  ]) func `a read with a limit is allowed`(code: [String]) {
    let text = SwiftText(path: "/Tests/A.swift", text: code.joined(separator: "\n"))
    #expect(GateRules.unlimitedReads(in: text) == [])
  }

  @Test func `no test of the gate reads without a limit`() throws {
    let violations = try self.gate().flatMap(GateRules.unlimitedReads)
    #expect(violations == [])
  }

  @Test func `an exit test without a reason is found`() throws {
    let code = "await #expect(processExitsWith: .success) {"
    #expect(self.lines(GateRules.unexplainedExitTests(in: self.text("let a = 1", code, code))) == [2, 3])
    for reason in ["// A process of its own: others use memory.", "// Processes of their own: they end."] {
      #expect(GateRules.unexplainedExitTests(in: self.text(reason, "@Suite struct A {", code)) == [])
      #expect(self.lines(GateRules.unexplainedExitTests(in: self.text(code, reason))) == [1])
    }
    let violations = try self.gate().flatMap(GateRules.unexplainedExitTests)
    #expect(violations == [])
  }

  @Test(arguments: [
    "let server = try HTTPServer(host: host, port: 8080)", "channel.bind(host: host, port: 5000)",
    #"serving(["--rtsp-port", "8554"])"#,
  ]) func `a fixed port is found`(code: String) {
    #expect(self.lines(GateRules.fixedPorts(in: self.text(code))) == [1])
    #expect(GateRules.fixedPorts(in: self.text("// Safe because of this.", code)) == [])
  }

  @Test(arguments: ["HTTPServer(port: 0)", "Address(host: host, port: 8554)", #"serving(["--rtsp-port", "0"])"#])
  func `any port is allowed, and the port of an address`(code: String) {
    #expect(GateRules.fixedPorts(in: self.text(code)) == [])
  }

  @Test func `no test of the gate listens at a fixed port`() throws {
    let violations = try self.gate().flatMap(GateRules.fixedPorts)
    #expect(violations == [])
  }

  @Test func `a read that may be cut off is found`() throws {
    let text = self.text(
      #"let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)"#,
      #"let all = try String(systemFile: "/proc/self/maps")"#,
      #"let data = try Data(contentsOf: URL(filePath: "/proc/net/tcp"))"#,
      #"let name = try String(contentsOfFile: "\(folder)/comm", encoding: .utf8)"#,
      #"let page = try String(contentsOfFile: "\(folder)/status.md", encoding: .utf8)"#)
    #expect(self.lines(GateRules.partialReads(in: text)) == [1, 3, 4])
  }

  @Test func `neither the program nor a test reads a part of a system's file`() throws {
    let violations = try Repository.swiftFiles(in: "Sources", "Tests").filter { !$0.path.contains("/GateRulesTests") }
      .flatMap(GateRules.partialReads)
    #expect(violations == [])
  }

  @Test func `a run of ffmpeg that guesses a frame rate is refused, one that copies or states it is not`() throws {
    let text = self.text(
      #"["-i", url, "-f", "null", "-"]"#, #"["-i", url, "-c", "copy", "-f", "null", "-"]"#,
      #"static let decoding = eachFrame + ["-f", "null", "-"]"#)
    #expect(self.lines(GateRules.guessedFrameRates(in: text)) == [1])
    let files = try Repository.swiftFiles(in: "Tests/EndToEndTests")
    #expect(files.count > 50 && files.flatMap(GateRules.guessedFrameRates) == [])
  }
}
