internal import Media

/// Nonce counts that state-changing requests have used, RFC 7616 §3.3 (`nc`), so that none is accepted twice.
///
/// Reads may repeat a count: several players always send 1, and a repeated read changes nothing.
struct NonceCounts {
  /// Maximum number of nonces with used counts. When full, the oldest ``droppedNonces`` are dropped, and nonces created up to
  /// the time of the newest of them are not accepted for changes any more.
  static let maximumNonces = 1024
  /// Number of nonces dropped at once, so that a crowd of nonces costs little.
  private static let droppedNonces = 256
  /// Maximum distance of a late count from the highest one.
  private static let window: UInt32 = 64

  private struct Entry {
    var created: MediaTime
    var highest: UInt32
    /// Bit n: the count `highest - n` is used.
    var used: UInt64
  }

  private var entries: [String: Entry] = [:]
  private var oldestAllowed: MediaTime?

  /// Number of nonces with used counts.
  var count: Int { self.entries.count }

  /// Marks a count as used.
  ///
  /// - Parameters:
  ///   - count: The nonce count; 0 for a proof without one, RFC 2069.
  ///   - created: The time of the nonce.
  ///   - expiry: Time before which nonces have expired; their entries are removed.
  /// - Returns: False when it was used before, or may have been.
  mutating func use(_ count: UInt32, of nonce: String, created: MediaTime, expiry: MediaTime) -> Bool {
    if let oldestAllowed, created <= oldestAllowed { return false }
    guard var entry = self.entries[nonce] else {
      self.makeRoom(expiry: expiry)
      if let oldestAllowed, created <= oldestAllowed { return false }
      self.entries[nonce] = Entry(created: created, highest: count, used: 1)
      return true
    }
    if count > entry.highest {
      let distance = count - entry.highest
      entry.used = distance < Self.window ? entry.used << UInt64(distance) | 1 : 1
      entry.highest = count
    } else {
      let distance = entry.highest - count
      guard distance < Self.window, entry.used & (1 << UInt64(distance)) == 0 else { return false }
      entry.used |= 1 << UInt64(distance)
    }
    self.entries[nonce] = entry
    return true
  }

  private mutating func makeRoom(expiry: MediaTime) {
    guard self.entries.count >= Self.maximumNonces else { return }
    self.entries = self.entries.filter { $0.value.created >= expiry }
    guard self.entries.count >= Self.maximumNonces else { return }
    let limit = self.entries.values.map(\.created).sorted()[Self.droppedNonces - 1]
    self.oldestAllowed = limit
    self.entries = self.entries.filter { $0.value.created > limit }
  }
}
