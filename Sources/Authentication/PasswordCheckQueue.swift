/// The comparisons with scrypt hashes that run or wait: two at a time, in the order of their arrival, one of each network.
///
/// A comparison takes 0.2 s of a processor, so that a queue without bounds would keep owners out while a stranger guesses.
/// A further login of a network that has a comparison is refused, unless it asks for the same one, as a browser does that
/// sends several requests at once: its result is shared. Pure: the caller runs the comparisons.
package struct PasswordCheckQueue: Sendable {
  /// Number of a login that requests a comparison.
  package typealias Ticket = UInt64

  /// A comparison that the caller runs on a thread of its own.
  package struct Job: Sendable {
    /// Password and hash to compare.
    package let check: PasswordCheck
    fileprivate let number: UInt64
  }

  /// Maximum number of comparisons that run.
  package static let maximumRunning = 2
  /// Maximum number of comparisons that wait: with two at a time, the last of them is done after a second.
  static let maximumWaiting = 8
  /// Maximum number of logins that share a comparison.
  static let maximumTickets = 16

  private struct Entry {
    var job: Job
    var network: String
    var tickets: [Ticket]
    var isRunning = false
  }

  /// In the order of arrival; at most ``maximumRunning`` and ``maximumWaiting``.
  private var entries: [Entry] = []
  private var lastNumber: UInt64 = 0

  /// Creates a queue in which nothing runs or waits.
  package init() {}

  /// Number of comparisons that run.
  package var runningCount: Int { self.entries.count { $0.isRunning } }
  /// Number of comparisons that wait.
  package var waitingCount: Int { self.entries.count { !$0.isRunning } }

  /// Adds a login.
  ///
  /// - Parameter ticket: A number that no other login has.
  /// - Returns: False when it is refused: its network has another comparison, or too many wait.
  package mutating func add(_ check: PasswordCheck, ticket: Ticket) -> Bool {
    let network = check.network
    if let index = self.entries.firstIndex(where: { $0.network == network }) {
      guard self.entries[index].job.check.mark == check.mark, self.entries[index].tickets.count < Self.maximumTickets
      else { return false }
      self.entries[index].tickets.append(ticket)
      return true
    }
    guard self.waitingCount < Self.maximumWaiting else { return false }
    self.lastNumber += 1
    self.entries.append(
      Entry(job: Job(check: check, number: self.lastNumber), network: network, tickets: [ticket]))
    return true
  }

  /// Removes a login that waits, whose client has gone; a comparison without further logins is not run.
  ///
  /// - Returns: Whether it waited.
  package mutating func cancel(_ ticket: Ticket) -> Bool {
    guard let index = self.entries.firstIndex(where: { $0.tickets.contains(ticket) }), !self.entries[index].isRunning
    else { return false }
    self.entries[index].tickets.removeAll { $0 == ticket }
    if self.entries[index].tickets.isEmpty { self.entries.remove(at: index) }
    return true
  }

  /// The next comparison to run; nil while ``maximumRunning`` run, or none waits.
  package mutating func next() -> Job? {
    guard self.runningCount < Self.maximumRunning, let index = self.entries.firstIndex(where: { !$0.isRunning }) else {
      return nil
    }
    self.entries[index].isRunning = true
    return self.entries[index].job
  }

  /// Removes a comparison that has run.
  ///
  /// - Returns: The logins that requested it.
  package mutating func finish(_ job: Job) -> [Ticket] {
    guard let index = self.entries.firstIndex(where: { $0.job.number == job.number }) else { return [] }
    return self.entries.remove(at: index).tickets
  }
}
