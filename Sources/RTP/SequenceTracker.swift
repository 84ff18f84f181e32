/// Classifies received sequence numbers for a depacketizer: next, gap or late.
///
/// Packets are not reordered: TCP keeps their order, and on a local network late UDP packets are too rare to justify
/// the latency of a jitter buffer.
struct SequenceTracker: Hashable, Sendable {
  enum Verdict: Hashable {
    /// The next number, or the first.
    case next
    /// Packets before it are missing; 0 when the sender seems to have restarted.
    case gap(missing: Int)
    /// A duplicate, or too late.
    case late
  }

  private var expected: UInt16?

  /// Maximum distance of a late packet; MAX_MISORDER of RFC 3550 A.1. A larger distance is a restart.
  private static let maximumMisorder = 100

  mutating func handle(_ number: UInt16) -> Verdict {
    let advance = self.expected.map { Int(Int16(bitPattern: number &- $0)) } ?? 0
    if advance < 0, advance >= -Self.maximumMisorder { return .late }
    self.expected = number &+ 1
    return advance == 0 ? .next : .gap(missing: max(advance, 0))
  }
}
