/// Record of the last received packets, RFC 3711 §3.3.2: the highest index and the 128 before it.
struct ReplayWindow: Hashable, Sendable {
  /// Bit n is set when index `highest - n` was received.
  private var received: UInt128 = 0
  private(set) var highest: UInt64?

  static let length: UInt64 = 128

  /// Whether a packet with this index may be new: neither received nor older than the window.
  func accepts(_ index: UInt64) -> Bool {
    guard let highest = self.highest, index <= highest else { return true }
    let age = highest - index
    return age < Self.length && self.received >> UInt128(age) & 1 == 0
  }

  /// Marks the index of an authentic packet as received.
  mutating func insert(_ index: UInt64) {
    guard let highest = self.highest else {
      self.highest = index
      self.received = 1
      return
    }
    if index > highest {
      let advance = index - highest
      self.received = advance < Self.length ? self.received << UInt128(advance) | 1 : 1
      self.highest = index
    } else if highest - index < Self.length {
      self.received |= 1 << UInt128(highest - index)
    }
  }
}
