import Media
import Synchronization
import Testing

@testable import Authentication

@Suite("Refusals that the owner is informed of")
struct AccessRefusalTests {
  @Test func `wrong passwords, and the delay after them, are reported once a minute by network`() {
    let refusals = Mutex<[AccessRefusal]>([])
    var settings = AccessSettings()
    settings.users = [Credentials(user: "anna", password: "sesame")]
    let access = AccessControl(
      settings: settings, makeRandom: { 7 }, isOnOwnLink: { _ in false },
      report: { refusal in refusals.withLock { $0.append(refusal) } })
    // anna:wrong
    let wrong = AccessControlTests.request("Basic YW5uYTp3cm9uZw==")
    for _ in 0..<7 { _ = AccessControlTests.decide(.watch, wrong, of: access) }
    let address = "192.0.2.1"
    #expect(
      refusals.withLock { $0 } == [
        .wrongCredentials(address: address, count: 1), .throttled(address: address, .seconds(1)),
      ])
    _ = AccessControlTests.decide(.watch, wrong, of: access, at: AccessControlTests.now + .seconds(61))
    #expect(refusals.withLock { $0.last } == .wrongCredentials(address: address, count: 5))
    access.refuseHost("evil.example", now: AccessControlTests.now)
    #expect(refusals.withLock { $0.last } == .foreignHost("evil.example", count: 1))
  }

  @Test func `the delay has no line, since the password before it has one`() {
    #expect(AccessRefusal.throttled(address: "192.0.2.1", .seconds(1)).text == nil)
    #expect(AccessRefusal.wrongCredentials(address: "::1", count: 2).text == "::1: wrong password or token (2 times)")
  }
}
