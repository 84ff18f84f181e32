/// Extends 32-bit RTP timestamps, which wrap, to 64 bits.
///
/// Each timestamp must be within 2³¹ ticks (6.6 hours at 90 kHz) of the previous one.
public struct RTPTimestampUnwrapper: Hashable, Sendable {
  private var last: Int64?

  /// An unwrapper before the first timestamp.
  public init() {}

  /// Returns the extended timestamp; the first timestamp is unchanged.
  public mutating func unwrap(_ timestamp: UInt32) -> Int64 {
    guard let last = self.last else {
      self.last = Int64(timestamp)
      return Int64(timestamp)
    }
    // No overflow: 2³¹ a packet takes 2³² packets of the largest step to reach 2⁶³.
    let unwrapped = last &+ Int64(Int32(bitPattern: timestamp &- UInt32(truncatingIfNeeded: last)))
    self.last = unwrapped
    return unwrapped
  }
}
