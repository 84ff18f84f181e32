import Authentication
import Dispatch
import Media
import NIOPosix
import Synchronization
import TestSupport
import Testing
import Threading

@testable import Serving

@Suite("Passwords compared with scrypt hashes", .timeLimit(.minutes(5)))
struct PasswordCheckerTests {
  /// "secret", with the cost of `vidicon password`.
  private static func access(users: Int = 1) throws -> AccessControl {
    let hash = try #require(PasswordHash(password: "secret", salt: Array(0..<16)))
    var settings = AccessSettings()
    settings.users = (0..<users).map { Credentials(user: "ben\($0)", password: hash.text, role: .operator) }
    // An hour, since a second may pass before a comparison runs.
    return AccessControl(
      settings: settings, makeRandom: { 7 }, isOnOwnLink: { _ in false }, firstLoginDelay: .seconds(3600))
  }

  private static func check(
    _ password: String, user: String = "ben0", from address: String, _ access: AccessControl
  ) -> PasswordCheck? {
    access.passwordCheck(user: user, password: Secret(password), address: address, now: StreamClock.system.now())
  }

  private static func login(_ password: String, from address: String, _ access: AccessControl)
    -> AccessControl
    .LoginResult
  {
    access.login(user: "ben0", password: Secret(password), address: address, now: StreamClock.system.now())
  }

  @Test func `a stranger's thousand wrong logins do not keep an owner elsewhere waiting`() async throws {
    let (access, clock) = (try Self.access(), ContinuousClock())
    let threads = NIOThreadPool(numberOfThreads: PasswordCheckQueue.maximumRunning)
    threads.start()
    let checker = PasswordChecker(access: access, threads: threads)
    let first = try #require(Self.check("first", from: "192.0.2.99", access))
    let single = await clock.measure { _ = await checker.run(first) }
    let outcomes = Mutex<[PasswordChecker.Outcome]>([])
    let checks = try (0..<1000).map { number in
      try #require(Self.check("wrong\(number)", from: "192.0.2.1", access))
    }
    // On a busy machine a comparison may take less time than the logins.
    let areSubmitted = DispatchSemaphore(value: 0)
    for _ in 0..<PasswordCheckQueue.maximumRunning { threads.submit { _ in areSubmitted.waitWithLimit() } }
    for check in checks {
      checker.submit(check, ticket: checker.makeTicket()) { outcome in outcomes.withLock { $0.append(outcome) } }
    }
    // One is compared; all others are refused at once, with a time to wait.
    #expect(outcomes.withLock { $0 } == Array(repeating: .refused(.seconds(1)), count: 999))
    for _ in 0..<PasswordCheckQueue.maximumRunning { areSubmitted.signal() }
    let owner = try #require(Self.check("secret", from: "198.51.100.1", access))
    let waited = await clock.measure {
      let outcome = await checker.run(owner)
      #expect(outcome == .compared)
    }
    var isOperator = false
    if case .token(_, .operator) = Self.login("secret", from: "198.51.100.1", access) { isOperator = true }
    #expect(isOperator, "the owner can log in")
    // The owner's comparison shares the processors with the stranger's one.
    #expect(onQuietMachine(waited < single * 4 + .milliseconds(500)), "\(waited), one comparison takes \(single)")
    try await threads.shutdownGracefully()
  }

  @Test func `a right password is compared once, a wrong one too`() async throws {
    let access = try Self.access()
    let checker = PasswordChecker(access: access)
    for (password, isRight) in [("secret", true), ("wrong", false)] {
      let check = try #require(Self.check(password, from: "192.0.2.1", access))
      #expect(await checker.run(check) == .compared)
      #expect(Self.check(password, from: "192.0.2.1", access) == nil, "\(password)")
      // From elsewhere too.
      #expect(Self.check(password, from: "198.51.100.1", access) == nil, "\(password)")
      if case .token = Self.login(password, from: "192.0.2.1", access) {
        #expect(isRight)
      } else {
        #expect(!isRight)
      }
    }
  }

  @Test func `a client that is to wait meanwhile, or has gone, costs no comparison`() async throws {
    let access = try Self.access()
    let threads = NIOThreadPool(numberOfThreads: 1)
    threads.start()
    let checker = PasswordChecker(access: access, threads: threads)
    let outcomes = Mutex<[String: PasswordChecker.Outcome]>([:])
    let (thread, isFree) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    threads.submit { _ in
      thread.signal()
      isFree.waitWithLimit()
    }
    thread.waitWithLimit()
    let tickets = try ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map { address in
      let check = try #require(Self.check("wrong", from: address, access))
      let ticket = checker.makeTicket()
      checker.submit(check, ticket: ticket) { outcome in outcomes.withLock { $0[address] = outcome } }
      return ticket
    }
    // The client of the last one has gone; the first one fails five times over another protocol.
    checker.cancel(tickets[2])
    #expect(outcomes.withLock { $0 } == ["192.0.2.3": .refused(.seconds(1))])
    // A cancelled task does not wait for the two that run.
    let check = try #require(Self.check("wrong", from: "192.0.2.4", access))
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await checker.run(check)
    }
    #expect(await cancelled.value == .refused(.seconds(1)))
    for _ in 0..<5 { _ = Self.login("other", from: "192.0.2.1", access) }
    isFree.signal()
    try await eventually { outcomes.withLock { $0.count } == 3 }
    guard case .refused(let delay)? = outcomes.withLock({ $0["192.0.2.1"] }) else {
      Issue.record("a throttled login is compared: \(outcomes.withLock { $0 })")
      return
    }
    #expect(delay > .seconds(1) && delay <= .seconds(3600))
    #expect(outcomes.withLock { $0["192.0.2.2"] } == .compared)
    try await threads.shutdownGracefully()
  }

  @Test func `a stopped server refuses`() async throws {
    let access = try Self.access()
    let threads = NIOThreadPool(numberOfThreads: 1)
    let checker = PasswordChecker(access: access, threads: threads)
    let check = try #require(Self.check("secret", from: "192.0.2.1", access))
    try await threads.shutdownGracefully()
    #expect(await checker.run(check) == .refused(.seconds(1)))
  }
}
