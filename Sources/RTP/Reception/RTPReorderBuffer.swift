public import Media

/// Restores the order of a source's packets, which UDP may deliver in another. Pure: `now` is an argument.
///
/// Packets in order pass at once. A packet behind a gap waits for the missing ones: until ``maximumDelay`` after its arrival, which
/// the next packet of any number ends, or until ``maximumCount`` packets wait. Late packets and duplicates pass; depacketizers
/// drop and count them.
public struct RTPReorderBuffer: Sendable {
  /// Maximum time that a packet waits for missing ones.
  public static let maximumDelay = MediaDuration.milliseconds(100)
  /// Maximum number of waiting packets, and maximum gap; a larger one is a restart of the sender.
  public static let maximumCount = 256

  private var expected: UInt16?
  /// By their distance from `expected`, each number once.
  private var waiting: [(packet: RTPPacket, arrival: MediaTime)] = []

  /// A buffer before the first packet.
  public init() {}

  /// Number of packets that wait for missing ones.
  public var waitingCount: Int { self.waiting.count }

  /// Inserts a packet, and returns those that wait for no other, in order.
  public mutating func insert(_ packet: RTPPacket, at now: MediaTime) -> [RTPPacket] {
    let number = packet.header.sequenceNumber
    let distance = self.expected.map { Int(Int16(bitPattern: number &- $0)) } ?? 0
    var released: [RTPPacket] = []
    if self.expected == nil || distance == 0 {
      self.expected = number &+ 1
      released.append(packet)
    } else if abs(distance) > Self.maximumCount {
      released = self.waiting.map(\.packet) + [packet]
      self.waiting.removeAll()
      self.expected = number &+ 1
    } else if distance < 0 {
      released.append(packet)
    } else {
      let index = self.waiting.firstIndex { self.distance(of: $0.packet) >= distance } ?? self.waiting.endIndex
      if index == self.waiting.endIndex || self.waiting[index].packet.header.sequenceNumber != number {
        self.waiting.insert((packet, now), at: index)
      }
    }
    self.release(to: &released)
    while self.waiting.count > Self.maximumCount
      || self.waiting.contains(where: { now - $0.arrival >= Self.maximumDelay })
    {
      // The missing packets are lost.
      self.expected = self.waiting.first?.packet.header.sequenceNumber
      self.release(to: &released)
    }
    return released
  }

  /// Number of packets from the expected one to this one.
  private func distance(of packet: RTPPacket) -> Int {
    Int(Int16(bitPattern: packet.header.sequenceNumber &- (self.expected ?? 0)))
  }

  /// Moves the packets that follow without a gap.
  private mutating func release(to released: inout [RTPPacket]) {
    var count = 0
    while count < self.waiting.count, self.waiting[count].packet.header.sequenceNumber == self.expected {
      released.append(self.waiting[count].packet)
      self.expected = self.expected.map { $0 &+ 1 }
      count += 1
    }
    self.waiting.removeFirst(count)
  }
}
