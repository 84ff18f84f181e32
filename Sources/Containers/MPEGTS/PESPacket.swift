public import Media
public import NIOCore

/// A packet of a packetized elementary stream (PES), ISO/IEC 13818-1 §2.4.3.6: usually one access unit or several audio
/// frames. The syntax table is at ``PESHeader``.
public struct PESPacket: Hashable, Sendable {
  /// `stream_id`: 0xE0 to 0xEF video, 0xC0 to 0xDF audio, 0xBD private, such as metadata.
  public var streamID: UInt8
  /// PTS in ticks of 90 kHz, 33 bits, if present.
  public var presentationTimestamp: UInt64?
  /// DTS in ticks of 90 kHz, 33 bits, if it differs from the PTS.
  public var decodeTimestamp: UInt64?
  /// Slice after the PES header: bytes of the elementary stream, such as an access unit in Annex B.
  public var payload: ByteBuffer

  /// Parses a complete packet. Bytes after a PES_packet_length other than 0 are ignored.
  ///
  /// - Throws: `.truncated`; `.invalid` for a wrong start code or timestamp marker bits; `.unsupported` for stream_ids
  ///   without PES header flags, such as padding.
  public init(parsing bytes: ByteBuffer) throws(ParsingError) {
    var rest = bytes
    guard let start = rest.readInteger(as: UInt32.self), let length = rest.readInteger(as: UInt16.self) else {
      throw ParsingError(.truncated, field: "PES_packet_length", offset: 4)
    }
    guard start >> 8 == 1 else { throw ParsingError(.invalid, field: "packet_start_code_prefix", offset: 0) }
    self.streamID = UInt8(truncatingIfNeeded: start)
    guard (0xC0...0xEF).contains(self.streamID) || self.streamID == PESHeader.privateStreamID else {
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

/// Serializes the header of a PES packet, ISO/IEC 13818-1 §2.4.3.6.
///
/// | bits | field |
/// |------|-------|
/// | 24   | packet_start_code_prefix, 00 00 01 |
/// | 8    | stream_id: 0xE0 video, 0xC0 audio, 0xBD private_stream_1: metadata |
/// | 16   | PES_packet_length: bytes after this field; 0 (unbounded) is allowed for video only |
/// | 8    | `10`, scrambling `00`, priority 0, data_alignment_indicator 1, copyright 0, original 0 |
/// | 8    | PTS_DTS_flags (`10`: PTS, `11`: both), six flags 0 |
/// | 8    | PES_header_data_length |
/// | 40   | PTS, and DTS when it differs: `0010` or `0011` and `0001`, then 3, 15, 15 bits, each followed by a 1 |
enum PESHeader {
  static let videoStreamID: UInt8 = 0xE0
  static let audioStreamID: UInt8 = 0xC0
  static let privateStreamID: UInt8 = 0xBD
  /// Bytes between PES_packet_length and the payload of an audio or metadata packet: 3 of flags and length + 5 of PTS.
  private static let headLength = 8
  /// Maximum payload of such a packet in bytes: 65,535 - 8.
  static let maximumPayload = 0xFFFF - headLength

  /// The header of an access unit; timestamps in ticks of 90 kHz.
  static func video(presentationTimestamp: UInt64, decodeTimestamp: UInt64) -> [UInt8] {
    var header: [UInt8] = [0x00, 0x00, 0x01, Self.videoStreamID, 0x00, 0x00, 0b1000_0100]
    if presentationTimestamp == decodeTimestamp {
      header += [0b1000_0000, 5]
      Self.append(presentationTimestamp, prefix: 0b0010, to: &header)
    } else {
      header += [0b1100_0000, 10]
      Self.append(presentationTimestamp, prefix: 0b0011, to: &header)
      Self.append(decodeTimestamp, prefix: 0b0001, to: &header)
    }
    return header
  }

  /// The header of ADTS frames or of an ID3 tag.
  ///
  /// - Parameters:
  ///   - presentationTimestamp: Ticks of 90 kHz, 33 bits.
  ///   - payloadLength: Bytes, at most ``maximumPayload``.
  static func packet(of streamID: UInt8, presentationTimestamp: UInt64, payloadLength: Int) -> [UInt8] {
    var header: [UInt8] = [0x00, 0x00, 0x01, streamID]
    header.appendInteger(UInt16(payloadLength + Self.headLength))
    header += [0b1000_0100, 0b1000_0000, 5]
    Self.append(presentationTimestamp, prefix: 0b0010, to: &header)
    return header
  }

  private static func append(_ timestamp: UInt64, prefix: UInt64, to header: inout [UInt8]) {
    let field =
      prefix << 36 | (timestamp >> 30 & 0x7) << 33 | 1 << 32 | (timestamp >> 15 & 0x7FFF) << 17 | 1 << 16
      | (timestamp & 0x7FFF) << 1 | 1
    for shift: UInt64 in [32, 24, 16, 8, 0] { header.append(UInt8(truncatingIfNeeded: field >> shift)) }
  }
}
