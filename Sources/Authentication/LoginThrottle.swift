package import Media

/// Slows down guesses of passwords and tokens: five failures of an address with a name are free, then each failure refuses
/// further attempts for 1 s, 2 s, 4 s … 60 s.
///
/// An IPv6 network of 64 bits counts as one address, since each of its hosts has as many addresses as it likes. An address
/// with a successful login in the last 24 hours is not slowed, so that a program with an old password does not lock its
/// neighbor out: a network elsewhere as a whole, since hosts change their address in it daily; of a network that
/// strangers share with the owner, such as the server's own, only the address itself. Guesses of an operator's password are
/// exempt after a login of an operator only: not each viewer may become one.
struct LoginThrottle {
  /// Number of failures without a delay.
  static let freeFailures = 5
  /// Maximum delay after a failure, unless the first one is longer.
  static let maximumDelay = MediaDuration.seconds(60)
  /// Time without failures after which they are forgotten.
  static let memory = MediaDuration.seconds(3600)
  /// Time for which a successful login exempts its address.
  static let exemption = MediaDuration.seconds(24 * 3600)
  /// Maximum number of networks with failures, and of addresses and networks with logins; when full, the one whose
  /// last attempt is the oldest is dropped. Failures never displace logins.
  static let maximumAddresses = 4096
  /// Maximum number of names by address; further names count as one.
  static let maximumNames = 16

  private struct Failures {
    var count = 0
    var last: MediaTime
  }

  private struct Entry {
    var names: [String: Failures] = [:]
    var lastActivity: MediaTime
  }

  /// The logins that exempt a name, and the names that a login exempts.
  enum Level: Hashable {
    /// Of viewers and publishers, and tokens, which are too long to be guessed.
    case any
    /// Of operators.
    case `operator`
  }

  /// Origin of logins that a correct login exempts from the delays.
  private struct Exempt: Hashable {
    enum Place: Hashable {
      case address(String)
      case network(String)
    }

    var place: Place
    var level: Level
  }

  /// Delay after the first failure that is not free; each further one doubles it.
  private let firstDelay: MediaDuration
  /// By network.
  private var entries: [String: Entry] = [:]
  /// The last login of each.
  private var logins: [Exempt: MediaTime] = [:]

  init(firstDelay: MediaDuration = .seconds(1)) {
    self.firstDelay = firstDelay
  }

  /// Number of networks with failures.
  var count: Int { self.entries.count }
  /// Number of addresses and networks with logins.
  var loginCount: Int { self.logins.count }

  /// Whether a login of the last day exempts an address.
  private func isExempt(_ address: String, _ level: Level, now: MediaTime) -> Bool {
    let places = [Exempt.Place.address(Self.canonical(address)), .network(Self.network(of: address))]
    return places.contains { place in
      (level == .any ? [Level.any, .operator] : [.operator]).contains { level in
        self.logins[Exempt(place: place, level: level)].map { now - $0 < Self.exemption } ?? false
      }
    }
  }

  /// Time until the next attempt is allowed; nil when it is allowed now.
  func delay(address: String, name: String, level: Level = .any, now: MediaTime) -> MediaDuration? {
    guard let entry = self.entries[Self.network(of: address)],
      let failures = entry.names[Self.name(name, in: entry)], failures.count >= Self.freeFailures,
      !self.isExempt(address, level, now: now)
    else { return nil }
    let exponent = min(failures.count - Self.freeFailures, 6)
    let delay = min(self.firstDelay * (1 << Int64(exponent)), max(Self.maximumDelay, self.firstDelay))
    let remaining = failures.last + delay - now
    return remaining > .zero ? remaining : nil
  }

  /// Records a wrong password or token; without effect for an address that is not slowed.
  mutating func recordFailure(address: String, name: String, level: Level = .any, now: MediaTime) {
    guard !self.isExempt(address, level, now: now) else { return }
    let key = Self.network(of: address)
    self.makeRoom(for: key)
    var entry = self.entries[key] ?? Entry(lastActivity: now)
    entry.lastActivity = now
    let name = Self.name(name, in: entry)
    var failures = entry.names[name] ?? Failures(last: now)
    if now - failures.last > Self.memory { failures.count = 0 }
    failures.count += 1
    failures.last = now
    entry.names[name] = failures
    self.entries[key] = entry
  }

  /// Records a successful login.
  ///
  /// - Parameters:
  ///   - level: The names that it exempts; a login of an operator exempts all.
  ///   - isNetworkShared: Whether strangers may be in the address's network: it exempts the address only, and does not
  ///     forget the network's failures.
  mutating func recordLogin(
    address: String, level: Level = .any, isNetworkShared: Bool = false, now: MediaTime
  ) {
    let network = Self.network(of: address)
    let exempt = Exempt(
      place: isNetworkShared ? .address(Self.canonical(address)) : .network(network), level: level)
    if self.logins[exempt] == nil, self.logins.count >= Self.maximumAddresses,
      let oldest = self.logins.min(by: { $0.value < $1.value })
    {
      self.logins[oldest.key] = nil
    }
    self.logins[exempt] = now
    if !isNetworkShared, level == .operator { self.entries[network] = nil }
  }

  /// The name under which failures are counted; the empty name stands for all names beyond the limit.
  private static func name(_ name: String, in entry: Entry) -> String {
    let name = String(name.prefix(64))
    return entry.names[name] != nil || entry.names.count < Self.maximumNames ? name : ""
  }

  /// The name of the network of an address: of the first 64 bits of an IPv6 address, else of the address itself.
  static func network(of address: String) -> String {
    IPAddress(parsing: address).map { "\($0.network)" } ?? address
  }

  /// The same text for all spellings of an address.
  private static func canonical(_ address: String) -> String {
    IPAddress(parsing: address).map { "\($0)" } ?? address
  }

  private mutating func makeRoom(for key: String) {
    guard self.entries[key] == nil, self.entries.count >= Self.maximumAddresses,
      let oldest = self.entries.min(by: { $0.value.lastActivity < $1.value.lastActivity })
    else { return }
    self.entries[oldest.key] = nil
  }
}

extension MediaDuration {
  /// Seconds, rounded up, for `Retry-After`, RFC 9110 §10.2.3.
  package var secondsRoundedUp: Int64 { (self.nanoseconds + 999_999_999) / 1_000_000_000 }
}
