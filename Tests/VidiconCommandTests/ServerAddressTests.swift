import Authentication
import Foundation
import Media
import Testing

@testable import VidiconCommand

@Suite("Control of a running server")
struct ServerAddressTests {
  private static func summary(_ control: ControlPolicy, isWatchingProtected: Bool = false) -> AccessSummary {
    AccessSummary(control: control, isWatchingProtected: isWatchingProtected)
  }

  @Test(
    arguments: [
      (.operators, false, ["anyone on this network can watch; --user NAME:PASSWORD asks for a password"]),
      (.operators, true, []), (.all, true, ["everyone who can watch can control, since --control is all"]),
      (.machine, true, ["every program on this machine can control, since --control is machine"]),
      (.none, true, ["control is off, since --control is none"]),
    ] as [(ControlPolicy, Bool, [String])])
  func `the start says who may watch and who controls`(control: ControlPolicy, isProtected: Bool, notes: [String]) {
    #expect(Self.summary(control, isWatchingProtected: isProtected).notes == notes)
  }

  @Test func `at a loopback address the machine alone can watch`() {
    for (bind, place) in [(nil, "network"), ("::", "network"), ("127.0.0.1", "machine"), ("::1", "machine")] {
      var configuration = ServeConfiguration()
      configuration.bind = bind
      let summary = AccessSummary(control: .operators, isWatchingProtected: false, isLocal: configuration.isLocal)
      #expect(summary.notes == ["anyone on this \(place) can watch; --user NAME:PASSWORD asks for a password"])
    }
  }

  @Test(
    arguments: [
      ("port 80: is in use; choose another one", "port 80: is in use", "choose another one"),
      ("a: b; c; d", "a: b; c", "d"), ("there is no stream", "there is no stream", "see what \"vidicon status\" shows"),
    ])
  func `the refusal of a server says what the server says`(text: String, cause: String, nextStep: String) {
    let error = RunningServer.refusal(by: "server", text)
    #expect(error.cause == cause && error.nextStep == nextStep && error.subject == "server")
  }

  @Test func `without a token nothing leads to control`() {
    for isTerminal in [false, true] {
      #expect(Self.summary(.none).controlText(page: "http://h/live", isTerminal: isTerminal) == nil)
    }
  }

  @Test(
    arguments: [
      (nil, nil, "http://localhost:8080\n"), ("::", 8443, "http://localhost:8080\nhttps://localhost:8443\n"),
      ("0.0.0.0", nil, "http://localhost:8080\n"), ("127.0.0.2", nil, "http://127.0.0.2:8080\n"),
      ("::1", 1, "http://[::1]:8080\nhttps://[::1]:1\n"), ("fe80::1%eth0", nil, "http://[fe80::1%25eth0]:8080\n"),
    ] as [(String?, Int?, String)])
  func `the address of a server is written and read`(bind: String?, securePort: Int?, text: String) throws {
    let address = ServerAddress(bind: bind, port: 8080, securePort: securePort)
    #expect(address.text == text)
    #expect(ServerAddress(parsing: text) == address)
  }

  @Test(arguments: [
    "", "http://", "http://h", "http://h:0", "http://h:65536", "https://h:1", "8080", "http://h:1\nx", "a:1://",
  ])
  func `other text is no address`(text: String) {
    #expect(ServerAddress(parsing: text) == nil)
  }
}
