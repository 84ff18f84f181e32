import Media
import Testing

@testable import Authentication

@Suite("Order of comparisons with scrypt hashes")
struct PasswordCheckQueueTests {
  /// A hash that takes no time.
  static func hash(of password: String) throws -> PasswordHash {
    try #require(
      PasswordHash(
        password: Array(password.utf8), salt: [1, 2, 3, 4, 5, 6, 7, 8], cost: .init(logarithm: 2, parallelism: 1)))
  }

  private let hash: PasswordHash

  init() throws { self.hash = try Self.hash(of: "secret") }

  private func check(_ password: String, from address: String) -> PasswordCheck {
    PasswordCheck(
      password: Secret(password), hash: self.hash, user: "ben", address: address, mark: Array(password.utf8))
  }

  @Test func `two run at a time, eight wait, further ones are refused, and the order is that of arrival`() {
    var queue = PasswordCheckQueue()
    var started: [PasswordCheckQueue.Job] = []
    var admitted: [Bool] = []
    for number in 0..<12 {
      admitted.append(queue.add(self.check("x", from: "192.0.2.\(number)"), ticket: UInt64(number)))
      while let job = queue.next() { started.append(job) }
    }
    #expect(admitted == Array(repeating: true, count: 10) + [false, false])
    #expect(started.map(\.check.address) == ["192.0.2.0", "192.0.2.1"])
    var order: [UInt64] = []
    while !started.isEmpty {
      #expect(queue.runningCount <= 2)
      order += queue.finish(started.removeFirst())
      while let job = queue.next() { started.append(job) }
    }
    #expect(order == Array(0..<10))
    #expect(queue.waitingCount == 0 && queue.runningCount == 0)
  }

  @Test func `a network has one comparison, whose result its equal logins share`() {
    var queue = PasswordCheckQueue()
    var admitted: [Bool] = []
    func add(_ password: String, from address: String, _ ticket: UInt64) {
      admitted.append(queue.add(self.check(password, from: address), ticket: ticket))
    }
    for ticket in 0..<16 { add("x", from: "2001:db8::\(ticket)", UInt64(ticket)) }
    // Too many, another password, another network.
    add("x", from: "2001:db8::99", 16)
    add("y", from: "2001:db8::1", 17)
    add("y", from: "2001:db8:0:1::1", 18)
    #expect(admitted == Array(repeating: true, count: 16) + [false, false, true])
    let jobs = [queue.next(), queue.next(), queue.next()].compactMap { $0 }
    #expect(jobs.count == 2)
    // Also while it runs.
    add("y", from: "2001:db8::1", 19)
    #expect(admitted.last == false)
    #expect(queue.finish(jobs[0]) == Array(0..<16))
    add("y", from: "2001:db8::1", 20)
    #expect(admitted.last == true)
  }

  @Test func `a login whose client has gone does not run, unless another one asks for the same`() {
    var queue = PasswordCheckQueue()
    for ticket in 0..<4 { _ = queue.add(self.check("x", from: "192.0.2.\(ticket)"), ticket: UInt64(ticket)) }
    _ = queue.add(self.check("x", from: "192.0.2.3"), ticket: 4)
    let first = [queue.next(), queue.next()].compactMap { $0 }
    // Runs; waits; waits with another; unknown.
    let cancelled = [0, 2, 3, 9].map { queue.cancel($0) }
    #expect(cancelled == [false, true, true, false])
    var tickets = first.flatMap { queue.finish($0) }
    while let job = queue.next() { tickets += queue.finish(job) }
    #expect(tickets == [0, 1, 4])
  }
}
