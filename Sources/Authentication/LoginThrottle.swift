package import Media

/// Slows down guesses of passwords and tokens: five failures of an address with a name are free, then each failure refuses
/// further attempts for 1 s, 2 s, 4 s … 60 s.
///
/// An IPv6 network of 64 bits counts as one address. An address with a successful login in the last 24 hours is not slowed,
/// so that a program with an old password does not lock its neighbour out.
struct LoginThrottle {
  /// Number of failures without a delay.
  static let freeFailures = 5
  /// Maximum delay after a failure.
  static let maximumDelay = MediaDuration.seconds(60)
  /// Time without failures after which they are forgotten.
  static let memory = MediaDuration.seconds(3600)
  /// Time for which a successful login exempts its address.
  static let exemption = MediaDuration.seconds(24 * 3600)
  /// Maximum number of addresses; when full, the one that was quiet longest is dropped.
  static let maximumAddresses = 4096
  /// Maximum number of names by address; further names count as one.
  static let maximumNames = 16

  private struct Failures {
    var count = 0
    var last: MediaTime
  }

  private struct Entry {
    var names: [String: Failures] = [:]
    var lastLogin: MediaTime?
    var lastActivity: MediaTime
  }

  private var entries: [String: Entry] = [:]

  /// Number of addresses with failures or logins.
  var count: Int { self.entries.count }

  /// Time until the next attempt is allowed; nil when it is allowed now.
  func delay(address: String, name: String, now: MediaTime) -> MediaDuration? {
    guard let entry = self.entries[Self.key(address)] else { return nil }
    if let lastLogin = entry.lastLogin, now - lastLogin < Self.exemption { return nil }
    guard let failures = entry.names[Self.name(name, in: entry)], failures.count >= Self.freeFailures else {
      return nil
    }
    let exponent = min(failures.count - Self.freeFailures, 6)
    let delay = min(MediaDuration.seconds(1 << Int64(exponent)), Self.maximumDelay)
    let remaining = failures.last + delay - now
    return remaining > .zero ? remaining : nil
  }

  /// Records a wrong password or token.
  mutating func recordFailure(address: String, name: String, now: MediaTime) {
    let key = Self.key(address)
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
  mutating func recordLogin(address: String, now: MediaTime) {
    let key = Self.key(address)
    self.makeRoom(for: key)
    var entry = self.entries[key] ?? Entry(lastActivity: now)
    entry.lastActivity = now
    entry.lastLogin = now
    entry.names = [:]
    self.entries[key] = entry
  }

  /// The name under which failures are counted; the empty name stands for all names beyond the limit.
  private static func name(_ name: String, in entry: Entry) -> String {
    let name = String(name.prefix(64))
    return entry.names[name] != nil || entry.names.count < Self.maximumNames ? name : ""
  }

  private static func key(_ address: String) -> String {
    guard let address = IPAddress(parsing: address) else { return address }
    return "\(address.network)"
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
