import Media
import Testing

@testable import Authentication

@Suite("Limits of failed logins")
struct LoginThrottleTests {
  static let start = MediaTime(nanoseconds: 5_000_000_000)

  @Test func `five failures are free, then the delay doubles to a minute`() {
    var throttle = LoginThrottle()
    var now = Self.start
    var delays: [Int64] = []
    for _ in 0..<13 {
      throttle.recordFailure(address: "192.0.2.1", name: "anna", now: now)
      let delay = throttle.delay(address: "192.0.2.1", name: "anna", now: now)
      delays.append(delay?.secondsRoundedUp ?? 0)
      now += delay ?? .zero
      #expect(throttle.delay(address: "192.0.2.1", name: "anna", now: now) == nil)
    }
    #expect(delays == [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60])
    #expect(throttle.delay(address: "192.0.2.1", name: "ben", now: now) == nil)
    #expect(throttle.delay(address: "192.0.2.2", name: "anna", now: now) == nil)
  }

  @Test func `failures are forgotten after an hour without one`() {
    var throttle = LoginThrottle()
    for _ in 0..<5 { throttle.recordFailure(address: "a", name: "anna", now: Self.start) }
    let later = Self.start + .seconds(3601)
    throttle.recordFailure(address: "a", name: "anna", now: later)
    #expect(throttle.delay(address: "a", name: "anna", now: later) == nil)
  }

  @Test func `an IPv6 network of 64 bits is one address`() {
    var throttle = LoginThrottle()
    for host in 1...5 { throttle.recordFailure(address: "2001:db8::\(host)", name: "anna", now: Self.start) }
    #expect(throttle.delay(address: "2001:db8:0:0:ffff::9", name: "anna", now: Self.start) == .seconds(1))
    #expect(throttle.delay(address: "2001:db8:0:1::1", name: "anna", now: Self.start) == nil)
    #expect(throttle.count == 1)
  }

  @Test func `an address with a login of the last day is not slowed`() {
    var throttle = LoginThrottle()
    throttle.recordLogin(address: "192.0.2.1", now: Self.start)
    for _ in 0..<20 { throttle.recordFailure(address: "192.0.2.1", name: "anna", now: Self.start) }
    #expect(throttle.delay(address: "192.0.2.1", name: "anna", now: Self.start) == nil)
    let nextDay = Self.start + .seconds(24 * 3600)
    throttle.recordFailure(address: "192.0.2.1", name: "anna", now: nextDay)
    for _ in 0..<4 { throttle.recordFailure(address: "192.0.2.1", name: "anna", now: nextDay) }
    #expect(throttle.delay(address: "192.0.2.1", name: "anna", now: nextDay) == .seconds(1))
  }

  @Test func `in a shared network a login exempts its address only, and forgets nothing`() {
    var throttle = LoginThrottle()
    func fail(_ address: String, at now: MediaTime = Self.start) {
      throttle.recordFailure(address: address, name: "anna", now: now)
    }
    for _ in 0..<5 { fail("fe80::bad") }
    throttle.recordLogin(address: "fe80::1%eth0", isNetworkShared: true, now: Self.start)
    #expect(throttle.delay(address: "fe80:0::1", name: "anna", now: Self.start) == nil)
    #expect(throttle.delay(address: "fe80::bad", name: "anna", now: Self.start) == .seconds(1))
    // Failures of the exempt address do not slow its neighbors down.
    for _ in 0..<9 { fail("fe80::1") }
    #expect(throttle.delay(address: "fe80::bad", name: "anna", now: Self.start) == .seconds(1))
    // An address that is also the name of its network exempts no more than others.
    throttle.recordLogin(address: "fe80::", isNetworkShared: true, now: Self.start)
    #expect(throttle.delay(address: "fe80::bad", name: "anna", now: Self.start) == .seconds(1))
    // Elsewhere the network is exempt.
    for _ in 0..<5 { fail("2001:db8::bad") }
    throttle.recordLogin(address: "2001:db8::1", now: Self.start)
    for _ in 0..<5 { fail("2001:db8::bad") }
    #expect(throttle.delay(address: "2001:db8::bad", name: "anna", now: Self.start) == nil)
  }

  @Test func `failures of many networks displace no login, and logins are bounded`() {
    var throttle = LoginThrottle()
    throttle.recordLogin(address: "192.0.2.1", now: Self.start)
    for host in 0..<5000 {
      throttle.recordFailure(address: "10.0.\(host / 250).\(host % 250)", name: "", now: Self.start + .seconds(1))
    }
    for _ in 0..<9 { throttle.recordFailure(address: "192.0.2.1", name: "anna", now: Self.start) }
    #expect(throttle.delay(address: "192.0.2.1", name: "anna", now: Self.start) == nil)
    for host in 0..<5000 {
      throttle.recordLogin(address: "10.1.\(host / 250).\(host % 250)", now: Self.start + .milliseconds(Int64(host)))
    }
    #expect(throttle.loginCount == LoginThrottle.maximumAddresses)
  }

  @Test func `many names of one address count as one, and the table is bounded`() {
    var throttle = LoginThrottle()
    for name in 0..<100 { throttle.recordFailure(address: "192.0.2.1", name: "user\(name)", now: Self.start) }
    #expect(throttle.delay(address: "192.0.2.1", name: "another", now: Self.start) != nil)
    for host in 0..<5000 {
      let now = Self.start + .milliseconds(Int64(host))
      throttle.recordFailure(address: "10.0.\(host / 250).\(host % 250)", name: "", now: now)
    }
    #expect(throttle.count == LoginThrottle.maximumAddresses)
  }
}

@Suite("Nonce counts, RFC 7616 §3.3")
struct NonceCountsTests {
  @Test func `a count is used once, late ones within 64 of the highest`() {
    var counts = NonceCounts()
    func use(_ count: UInt32) -> Bool { counts.use(count, of: "n", created: .zero, expiry: .zero) }
    #expect(use(1) && !use(1) && use(3) && use(2) && !use(2) && !use(3))
    #expect(use(100) && !use(100) && use(37) && !use(36) && !use(37) && use(99))
    #expect(use(.max) && !use(.max) && !use(0))
    let isNew = counts.use(1, of: "m", created: .zero, expiry: .zero)
    #expect(isNew)
  }

  @Test func `a full table drops the oldest nonces, and never accepts them again`() {
    var counts = NonceCounts()
    for index in 0..<100_000 {
      let created = MediaTime(nanoseconds: Int64(index))
      let uses = (0..<2).map { _ in counts.use(1, of: "\(index)", created: created, expiry: .zero) }
      #expect(uses == [true, false])
      #expect(counts.count <= NonceCounts.maximumNonces)
    }
    let again = [1, 2].map { counts.use($0, of: "0", created: .zero, expiry: .zero) }
    #expect(again == [false, false])
  }
}
