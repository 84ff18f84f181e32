internal import Media
internal import NIOCore

/// The sealed packets that a viewer without a source of retransmissions (RTX) was sent, to send the same bytes again.
///
/// A packet under the same index of SRTP must never have other bytes, RFC 7714 §8.1, and the header extensions of another transmission
/// would be others: so the datagrams themselves are kept, bounded by time and length. Viewers with RTX need none of this.
struct SealedPacketHistory {
  private struct Packet {
    var datagram: ByteBuffer
    var sent: MediaTime
    var answered: MediaTime?
  }

  /// Treatment of a request for a packet.
  enum Answer {
    /// Send the datagram again.
    case packet(ByteBuffer)
    /// The packet was sent again less than a round trip ago.
    case answered
    /// The packet is too old, or was never sent.
    case unknown
  }

  /// Time for which packets are kept.
  static let lifetime = MediaDuration.seconds(1)
  /// Maximum length of all packets, in bytes: a second of 4 Mb/s.
  static let maximumByteCount = 512 * 1024

  private var packets = CircularBuffer<Packet>()
  private var byteCount = 0
  /// Number of the first packet; others follow without a gap.
  private var firstNumber: UInt16 = 0

  /// Appends a packet that was sealed.
  mutating func append(_ number: UInt16, _ datagram: UnsafeRawBufferPointer, at now: MediaTime) {
    if number != self.firstNumber &+ UInt16(truncatingIfNeeded: self.packets.count) { self.removeAll() }
    if self.packets.isEmpty { self.firstNumber = number }
    self.packets.append(Packet(datagram: ByteBuffer(bytes: datagram), sent: now))
    self.byteCount += datagram.count
    while let first = self.packets.first, self.byteCount > Self.maximumByteCount || now - first.sent > Self.lifetime {
      self.packets.removeFirst()
      self.firstNumber &+= 1
      self.byteCount -= first.datagram.readableBytes
    }
  }

  /// Finds a packet by its number, and notes that it is sent again.
  ///
  /// - Parameter roundTrip: A second request within this time asks for the packet that is on its way.
  mutating func answer(_ number: UInt16, roundTrip: MediaDuration, at now: MediaTime) -> Answer {
    let offset = Int(number &- self.firstNumber)
    guard offset < self.packets.count else { return .unknown }
    let index = self.packets.index(self.packets.startIndex, offsetBy: offset)
    if let answered = self.packets[index].answered, now - answered < roundTrip { return .answered }
    self.packets[index].answered = now
    return .packet(self.packets[index].datagram)
  }

  /// Forgets all packets: they must not be shown any more.
  mutating func removeAll() {
    self.packets.removeAll()
    self.byteCount = 0
  }
}
