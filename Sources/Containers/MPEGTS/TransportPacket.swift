public import Media
public import NIOCore

/// A packet of a transport stream as it is read, ISO/IEC 13818-1 §2.4.3.2. The drawing stands at the writer's.
public struct TransportPacket: Hashable, Sendable {
  /// The PID, 13 bits.
  public var packetIdentifier: UInt16
  /// Whether a PES packet or a section starts here: `payload_unit_start_indicator`.
  public var startsUnit: Bool
  /// `continuity_counter`, 0 to 15.
  public var continuityCounter: UInt8
  /// Whether there is payload, which the counter counts.
  public var hasPayload: Bool
  /// `discontinuity_indicator`: counter and clock may jump here.
  public var isDiscontinuous = false
  /// `random_access_indicator`.
  public var isRandomAccess = false
  /// The program clock reference in ticks of 27 MHz, below 2³³ × 300.
  public var programClock: UInt64?
  /// A slice behind header and adaptation field.
  public var payload: ByteBuffer

  /// Bytes of each packet.
  public static let length = TransportPacketWriter.packetLength

  /// Parses a packet, of which the first 188 bytes are looked at.
  ///
  /// - Throws: ``ParsingError``: `.truncated` for fewer bytes, `.invalid` when the first is not 0x47, the packet is
  ///   marked as damaged, or the adaptation field is longer than the packet; `.unsupported` when it is scrambled.
  public init(parsing bytes: ByteBuffer) throws(ParsingError) {
    var rest = bytes
    guard var packet = rest.readSlice(length: Self.length), let head = packet.readInteger(as: UInt32.self) else {
      throw ParsingError(.truncated, field: "transport_packet", offset: 0)
    }
    guard head >> 24 == UInt32(TransportPacketWriter.syncByte) else {
      throw ParsingError(.invalid, field: "sync_byte", offset: 0)
    }
    guard head & 0x0080_0000 == 0 else {
      throw ParsingError(.invalid, field: "transport_error_indicator", offset: 1)
    }
    guard head & 0xC0 == 0 else {
      throw ParsingError(.unsupported, field: "transport_scrambling_control", offset: 3)
    }
    self.startsUnit = head & 0x0040_0000 != 0
    self.packetIdentifier = UInt16(truncatingIfNeeded: head >> 8) & 0x1FFF
    self.hasPayload = head & 0b01_0000 != 0
    self.continuityCounter = UInt8(truncatingIfNeeded: head & 0b1111)
    if head & 0b10_0000 != 0 {
      guard let length = packet.readInteger(as: UInt8.self), var field = packet.readSlice(length: Int(length)) else {
        throw ParsingError(.invalid, field: "adaptation_field_length", offset: 4)
      }
      if let flags = field.readInteger(as: UInt8.self) {
        self.isDiscontinuous = flags & 0b1000_0000 != 0
        self.isRandomAccess = flags & 0b0100_0000 != 0
        if flags & 0b0001_0000 != 0 {
          guard let high = field.readInteger(as: UInt32.self), let low = field.readInteger(as: UInt16.self) else {
            throw ParsingError(.invalid, field: "program_clock_reference", offset: 6)
          }
          let base = UInt64(high) << 1 | UInt64(low >> 15)
          self.programClock = base * 300 + UInt64(low & 0x1FF)
        }
      }
    }
    self.payload = self.hasPayload ? packet : ByteBuffer()
  }
}
