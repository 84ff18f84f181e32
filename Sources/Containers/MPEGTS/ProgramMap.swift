public import Media
public import NIOCore

/// Program map table (PMT), ISO/IEC 13818-1 §2.4.4.8: elementary streams of the program and the PID of its clock.
///
/// | bits  | field |
/// |-------|-------|
/// | 8     | table_id, 2 |
/// | 4     | section_syntax_indicator 1, `0`, reserved `11` |
/// | 12    | section_length: bytes after this field, CRC included, at most 1021 |
/// | 16    | program_number |
/// | 2, 5, 1 | reserved `11`, version_number, current_next_indicator |
/// | 8, 8  | section_number 0, last_section_number 0 |
/// | 3, 13 | reserved `111`, PCR_PID |
/// | 4, 12 | reserved `1111`, program_info_length, and that many bytes of descriptors |
/// | 8, 3, 13, 4, 12 | for each stream: stream_type, reserved, elementary_PID, reserved, ES_info_length, descriptors |
/// | 32    | CRC_32 |
public struct ProgramMap: Hashable, Sendable {
  /// Entry of one elementary stream: its codec, and the PID of its packets.
  public struct Stream: Hashable, Sendable {
    /// `stream_type`: codec and framing of the stream.
    public var type: ProgramStreamType
    /// `elementary_PID` of its packets, 13 bits.
    public var packetIdentifier: UInt16

    /// Creates an entry from codec and PID.
    public init(type: ProgramStreamType, packetIdentifier: UInt16) {
      self.type = type
      self.packetIdentifier = packetIdentifier
    }
  }

  /// `version_number`, 0 to 31, incremented with each change.
  public var version: UInt8
  /// `PCR_PID`: PID of the packets that carry the program clock, 13 bits.
  public var clockPacketIdentifier: UInt16
  /// Entries of the elementary streams, in the order of the section.
  public var streams: [Stream]

  /// Creates a program map of a version from 0 to 31.
  public init(version: UInt8, clockPacketIdentifier: UInt16, streams: [Stream]) {
    self.version = version
    self.clockPacketIdentifier = clockPacketIdentifier
    self.streams = streams
  }

  /// `program_number` of the only program.
  static let programNumber: UInt16 = 1

  /// Parses a section, from table_id to CRC.
  ///
  /// - Throws: `.invalid` for another table_id, a wrong length or CRC; `.unsupported` when current_next_indicator is 0;
  ///   `.truncated`.
  public init(parsing section: ByteBuffer) throws(ParsingError) {
    var body = try ProgramSection(parsing: section, tableID: ProgramSection.programMapID)
    self.version = body.version
    guard
      let clock = body.content.readInteger(as: UInt16.self), let infoLength = body.content.readInteger(as: UInt16.self),
      body.content.readSlice(length: Int(infoLength & 0x0FFF)) != nil
    else { throw ParsingError(.truncated, field: "program_info_length", offset: 10) }
    self.clockPacketIdentifier = clock & 0x1FFF
    self.streams = []
    while body.content.readableBytes > 0 {
      guard
        let type = body.content.readInteger(as: UInt8.self), let identifier = body.content.readInteger(as: UInt16.self),
        let length = body.content.readInteger(as: UInt16.self),
        body.content.readSlice(length: Int(length & 0x0FFF)) != nil
      else { throw ParsingError(.truncated, field: "ES_info_length") }
      self.streams.append(
        Stream(type: ProgramStreamType(rawValue: type), packetIdentifier: identifier & 0x1FFF))
    }
  }

  /// Whether a stream carries metadata.
  var hasMetadata: Bool { self.streams.contains { $0.type == .metadata } }

  /// Serializes the section, from table_id to CRC; traps above 190 streams.
  public func serialize() -> [UInt8] {
    var content: [UInt8] = []
    content.appendInteger(0b111 << 13 | self.clockPacketIdentifier & 0x1FFF)
    Self.append(descriptors: self.hasMetadata ? MetadataDescriptor.pointer : [], to: &content)
    for stream in self.streams {
      content.append(stream.type.rawValue)
      content.appendInteger(0b111 << 13 | stream.packetIdentifier & 0x1FFF)
      Self.append(descriptors: stream.type == .metadata ? MetadataDescriptor.stream : [], to: &content)
    }
    return ProgramSection.serialize(
      tableID: ProgramSection.programMapID, extension: Self.programNumber, version: self.version, content: content)
  }

  private static func append(descriptors: [UInt8], to content: inout [UInt8]) {
    content.appendInteger(0b1111 << 12 | UInt16(descriptors.count))
    content += descriptors
  }
}

/// Type of an elementary stream: `stream_type`, ISO/IEC 13818-1 table 2-34.
public struct ProgramStreamType: RawRepresentable, Hashable, Sendable {
  /// `stream_type`, 0 to 255; other values than those below are kept.
  public let rawValue: UInt8

  /// Creates a type from its number.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// AAC in ADTS frames, ISO/IEC 13818-7.
  public static let adtsAAC = Self(rawValue: 0x0F)
  /// Metadata in PES packets, here ID3 tags.
  public static let metadata = Self(rawValue: 0x15)
  /// H.264 as a byte stream (Annex B).
  public static let h264 = Self(rawValue: 0x1B)
}

/// Descriptors that announce ID3 in a transport stream: ISO/IEC 13818-1 §2.6.58 and §2.6.60, with the values of
/// Apple's "Timed Metadata for HTTP Live Streaming" §2.3.
///
/// | bits | field |
/// |------|-------|
/// | 8, 8 | descriptor_tag, descriptor_length |
/// | 16, 32 | metadata_application_format 0xFFFF, metadata_application_format_identifier "ID3 " |
/// | 8, 32 | metadata_format 0xFF, metadata_format_identifier "ID3 " |
/// | 8    | metadata_service_id, the same in both |
enum MetadataDescriptor {
  private static let pointerTag: UInt8 = 37
  private static let metadataTag: UInt8 = 38
  private static let identifiers: [UInt8] =
    [0xFF, 0xFF] + Array("ID3 ".utf8) + [0xFF] + Array("ID3 ".utf8) + [0]  // metadata_service_id

  /// `metadata_pointer_descriptor` of the program: no locator (1 bit), metadata in this transport stream (2 bits), reserved
  /// ones (5 bits), program_number.
  static let pointer: [UInt8] = {
    var content = Self.identifiers + [0b0001_1111]
    content.appendInteger(ProgramMap.programNumber)
    return [Self.pointerTag, UInt8(content.count)] + content
  }()

  /// `metadata_descriptor` of the elementary stream: no decoder configuration (3 bits), no DSM-CC (1 bit), reserved ones
  /// (4 bits).
  static let stream: [UInt8] = {
    let content = Self.identifiers + [0b0000_1111]
    return [Self.metadataTag, UInt8(content.count)] + content
  }()
}

/// Packet identifiers (PID, 13 bits) of ISO/IEC 13818-1 table 2-3, and those that the muxer assigns.
package enum PacketIdentifier {
  /// Program association table.
  package static let programAssociation: UInt16 = 0x0000
  /// Program map table; assigned by the muxer.
  static let programMap: UInt16 = 0x1000
  /// Video; assigned by the muxer.
  static let video: UInt16 = 0x0100
  /// Audio; assigned by the muxer.
  static let audio: UInt16 = 0x0101
  /// Timed metadata; assigned by the muxer.
  static let metadata: UInt16 = 0x0102
  /// Null packets; as PCR_PID, a program without clock.
  static let null: UInt16 = 0x1FFF
}
