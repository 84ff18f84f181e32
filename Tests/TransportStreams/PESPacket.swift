package import Media
package import NIOCore

/// A packet of a packetized elementary stream (PES), ISO/IEC 13818-1 §2.4.3.6: usually one access unit or several audio
/// frames.
package struct PESPacket: Hashable, Sendable {
  /// `stream_id`: 0xE0 to 0xEF video, 0xC0 to 0xDF audio, 0xBD private, such as metadata.
  package var streamID: UInt8
  /// PTS in ticks of 90 kHz, 33 bits, if present.
  package var presentationTimestamp: UInt64?
  /// DTS in ticks of 90 kHz, 33 bits, if it differs from the PTS.
  package var decodeTimestamp: UInt64?
  /// Slice after the PES header: bytes of the elementary stream, such as an access unit in Annex B.
  package var payload: ByteBuffer

  /// Parses a complete packet. Bytes after a PES_packet_length other than 0 are ignored.
  ///
  /// - Throws: `.truncated`; `.invalid` for a wrong start code or timestamp marker bits; `.unsupported` for stream_ids
  ///   without PES header flags, such as padding.
  package init(parsing bytes: ByteBuffer) throws(ParsingError) {
    var rest = bytes
    guard let start = rest.readInteger(as: UInt32.self), let length = rest.readInteger(as: UInt16.self) else {
      throw ParsingError(.truncated, field: "PES_packet_length", offset: 4)
    }
    guard start >> 8 == 1 else { throw ParsingError(.invalid, field: "packet_start_code_prefix", offset: 0) }
    self.streamID = UInt8(truncatingIfNeeded: start)
    guard (0xC0...0xEF).contains(self.streamID) || self.streamID == 0xBD else {
      throw ParsingError(.unsupported, field: "stream_id", offset: 3)
    }
    if length > 0 {
      guard let whole = rest.readSlice(length: Int(length)) else {
        throw ParsingError(.truncated, field: "PES_packet_length", offset: 4)
      }
      rest = whole
    }
    guard
      let marks = rest.readInteger(as: UInt8.self), let flags = rest.readInteger(as: UInt8.self),
      let headerLength = rest.readInteger(as: UInt8.self), var header = rest.readSlice(length: Int(headerLength))
    else { throw ParsingError(.truncated, field: "PES_header_data_length", offset: 8) }
    guard marks >> 6 == 0b10 else { throw ParsingError(.invalid, field: "PES_header", offset: 6) }
    if flags & 0b1000_0000 != 0 {
      self.presentationTimestamp = try Self.timestamp(&header, "PTS")
      if flags & 0b0100_0000 != 0 { self.decodeTimestamp = try Self.timestamp(&header, "DTS") }
    }
    self.payload = rest
  }

  private static func timestamp(_ header: inout ByteBuffer, _ field: String) throws(ParsingError) -> UInt64 {
    guard let high = header.readInteger(as: UInt8.self), let low = header.readInteger(as: UInt32.self) else {
      throw ParsingError(.truncated, field: field, offset: 9)
    }
    guard high & 1 == 1, low & 0x1_0001 == 0x1_0001 else {
      throw ParsingError(.invalid, field: field, offset: 9)
    }
    return UInt64(high >> 1 & 0b111) << 30 | UInt64(low >> 17) << 15 | UInt64(low >> 1 & 0x7FFF)
  }
}
