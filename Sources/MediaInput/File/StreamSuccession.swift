internal import CLibav
internal import Media

/// Finds the streams of a transport stream in which others go on, as in clips that were joined whose packet identifiers differ: those that
/// have packets for a second while the others have none.
///
/// Packets of streams that may be such are held until then, and freed when the other one has its next packet: they are a second track.
struct StreamSuccession {
  /// Time without a packet, in nanoseconds, after which a stream goes on in another.
  private static let silence: Int64 = 1_000_000_000
  /// Maximum number of packets that are held.
  private static let maximumCount = 512

  private struct Candidate {
    var stream: Int
    var predecessor: Int
    var packets: [LibavPacket]
    /// Time of the first packet, in nanoseconds.
    var start: Int64
  }

  /// Chosen streams by those in which they go on.
  private var predecessors: [Int: Int] = [:]
  private var candidates: [Candidate] = []

  /// The chosen stream that goes on in a stream; nil for none.
  func predecessor(of stream: Int) -> Int? { self.predecessors[stream] }

  /// Takes note of a packet of a chosen stream, or of one in which it goes on.
  mutating func notePacket(of chosen: Int, in stream: Int) {
    if !self.candidates.isEmpty { self.candidates.removeAll { $0.predecessor == chosen } }
    guard stream == chosen, !self.predecessors.isEmpty else { return }
    self.predecessors = self.predecessors.filter { $0.value != chosen }
  }

  /// Holds a packet of a stream that may be that in which a chosen one goes on.
  ///
  /// - Parameter time: Decode time in nanoseconds.
  /// - Returns: All of its packets, in order, once it is; none before.
  mutating func hold(_ packet: LibavPacket, of stream: Int, after chosen: Int, at time: Int64) -> [LibavPacket] {
    guard let index = self.candidates.firstIndex(where: { $0.stream == stream }) else {
      self.candidates.append(Candidate(stream: stream, predecessor: chosen, packets: [packet], start: time))
      return []
    }
    self.candidates[index].packets.append(packet)
    let candidate = self.candidates[index]
    guard time - candidate.start >= Self.silence || candidate.packets.count >= Self.maximumCount else { return [] }
    self.predecessors = self.predecessors.filter { $0.value != chosen }
    self.predecessors[stream] = chosen
    self.candidates.removeAll { $0.predecessor == chosen }
    return candidate.packets
  }
}
