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
