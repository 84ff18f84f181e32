package import Media
package import NIOCore

/// A parsed packet of a transport stream, ISO/IEC 13818-1 §2.4.3.2.
package struct TransportPacket: Hashable, Sendable {
  /// PID of the table or elementary stream, 13 bits.
  package var packetIdentifier: UInt16
  /// `payload_unit_start_indicator`: a PES packet or section starts in the payload.
  package var startsUnit: Bool
  /// `continuity_counter`, 0 to 15: counts the packets of a PID that have a payload.
  package var continuityCounter: UInt8
  /// Whether the packet has a payload; only such packets increment the continuity counter.
  package var hasPayload: Bool
  /// `discontinuity_indicator`: continuity counter and clock may jump.
  package var isDiscontinuous = false
  /// `random_access_indicator`: decoding can start here.
  package var isRandomAccess = false
  /// Program clock reference in ticks of 27 MHz, below 2³³ × 300, if present.
  package var programClock: UInt64?
  /// Slice after header and adaptation field; empty without payload.
  package var payload: ByteBuffer

  /// Length of every packet: 188 bytes.
  package static let length = 188
  /// First byte of every packet.
  static let syncByte: UInt8 = 0x47

  /// Parses the first 188 bytes.
  ///
  /// - Throws: `.truncated` for fewer bytes; `.invalid` for a sync_byte other than 0x47, a set transport_error_indicator, or
  ///   an adaptation field longer than the packet; `.unsupported` for scrambled packets.
  package init(parsing bytes: ByteBuffer) throws(ParsingError) {
    var rest = bytes
    guard var packet = rest.readSlice(length: Self.length), let head = packet.readInteger(as: UInt32.self) else {
      throw ParsingError(.truncated, field: "transport_packet", offset: 0)
    }
    guard head >> 24 == UInt32(Self.syncByte) else {
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
