/// Tells a depacketizer whether a packet is the next one.
///
/// There is no reordering: over TCP there is nothing to reorder, and over UDP on a local network a late packet is so
/// rare that waiting for it would cost more delay than it saves pictures.
struct SequenceTracker: Hashable, Sendable {
  enum Verdict: Hashable {
    /// It is the next one, or the first.
    case next
    /// That many packets before it are missing; 0 when the other side seems to have restarted.
    case gap(missing: Int)
    /// It came already, or too late.
    case late
  }

  private var expected: UInt16?

  /// How far back a packet may be and still count as late; MAX_MISORDER of RFC 3550 A.1.
  private static let maximumMisorder = 100

  mutating func handle(_ number: UInt16) -> Verdict {
    let advance = self.expected.map { Int(Int16(bitPattern: number &- $0)) } ?? 0
    if advance < 0, advance >= -Self.maximumMisorder { return .late }
    self.expected = number &+ 1
    return advance == 0 ? .next : .gap(missing: max(advance, 0))
  }
}
