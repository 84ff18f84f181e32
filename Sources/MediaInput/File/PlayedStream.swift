/// The stream of a kind that is played, and which ones may replace it. Pure.
///
/// Maps list streams: indices of programs by the index of each stream that they have.
struct PlayedStream {
  private(set) var index: Int
  /// Programs that listed the stream last; empty where none has.
  private var programs: Set<Int> = []
  /// Place in the file of its last packet, in bytes; negative before the first.
  private var position: Int64 = -1

  init(_ index: Int) {
    self.index = index
  }

  /// Follows the packets of the file.
  ///
  /// - Parameters:
  ///   - position: Place of the packet in the file, in bytes; negative where it has none of its own.
  ///   - listed: The maps before it.
  mutating func handle(packetOf index: Int, at position: Int64, listed: [Int: Set<Int>]) {
    if let programs = listed[self.index] { self.programs = programs }
    if index == self.index { self.position = max(position, self.position) }
  }

  /// Continues with another stream, from a packet on.
  mutating func replace(by index: Int, at position: Int64, listed: [Int: Set<Int>]) {
    (self.index, self.programs) = (index, [])
    self.handle(packetOf: index, at: position, listed: listed)
  }

  /// Listed streams of all kinds that may replace it: none while it is listed itself, or never was. Those of other programs only where its
  /// own ones have no streams left.
  func successors(in listed: [Int: Set<Int>]) -> Set<Int> {
    guard !self.programs.isEmpty, listed[self.index] == nil else { return [] }
    let own = listed.filter { !$0.value.isDisjoint(with: self.programs) }
    return Set((own.isEmpty ? listed : own).keys)
  }

  /// Verdict of the maps on a packet of another stream of its kind; nil where none has listed the one that is played. A stream that none
  /// lists may be listed by the next one.
  func verdict(onPacketOf index: Int, listed: [Int: Set<Int>]) -> StreamSuccession.Verdict? {
    guard !self.programs.isEmpty else { return nil }
    guard listed[index] != nil else { return .isRest }
    return self.successors(in: listed).contains(index) ? .replaces : .isBeside
  }

  /// Whether a packet at a place of the file lies behind those that were played. Demuxers hold the last packets of a stream back until it
  /// goes on, and return them in the middle of another clip. Of several frames in a packet of the container, the first alone has a place.
  func isBefore(_ position: Int64) -> Bool { self.position <= position }
}
