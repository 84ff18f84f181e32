/// Makes of wrapping 32-bit timestamps ones that never wrap.
///
/// Each timestamp is taken to lie within 2³¹ ticks (6.6 hours at 90 kHz) of the one before it.
public struct RTPTimestampUnwrapper: Hashable, Sendable {
  private var last: Int64?

  /// An unwrapper that has seen nothing.
  public init() {}

  /// The timestamp without wraps; the first one is returned as it is.
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
