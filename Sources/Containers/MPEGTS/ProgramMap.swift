public import Media
public import NIOCore

/// The program map table, ISO/IEC 13818-1 §2.4.4.8: which elementary streams the program has, and where its clock is.
///
/// | bits  | field |
/// |-------|-------|
/// | 8     | table_id, 2 |
/// | 4     | section_syntax_indicator 1, `0`, reserved `11` |
/// | 12    | section_length: bytes behind it, CRC included, at most 1021 |
/// | 16    | program_number |
/// | 2, 5, 1 | reserved `11`, version_number, current_next_indicator |
/// | 8, 8  | section_number 0, last_section_number 0 |
/// | 3, 13 | reserved `111`, PCR_PID |
/// | 4, 12 | reserved `1111`, program_info_length, and as many bytes of descriptors |
/// | 8, 3, 13, 4, 12 | for each stream: stream_type, reserved, elementary_PID, reserved, ES_info_length, descriptors |
/// | 32    | CRC_32 |
public struct ProgramMap: Hashable, Sendable {
  /// An elementary stream.
  public struct Stream: Hashable, Sendable {
    /// What it holds.
    public var type: ProgramStreamType
    /// The PID of its packets, 13 bits.
    public var packetIdentifier: UInt16

    /// A stream.
    public init(type: ProgramStreamType, packetIdentifier: UInt16) {
      self.type = type
      self.packetIdentifier = packetIdentifier
    }
  }

  /// `version_number`, 0 to 31: a new one with each change.
  public var version: UInt8
  /// The PID of the packets that carry the program's clock, 13 bits.
  public var clockPacketIdentifier: UInt16
  /// The elementary streams.
  public var streams: [Stream]

  /// A program map.
  public init(version: UInt8, clockPacketIdentifier: UInt16, streams: [Stream]) {
    self.version = version
    self.clockPacketIdentifier = clockPacketIdentifier
    self.streams = streams
  }

  /// The number of the one program.
  static let programNumber: UInt16 = 1

  /// Parses a section, from table_id to CRC.
  ///
  /// - Throws: ``ParsingError`` when it is no current program map, a length does not fit, or the CRC is wrong.
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

  /// Whether there is a stream of metadata.
  var hasMetadata: Bool { self.streams.contains { $0.type == .metadata } }

  /// The section, from table_id to CRC; there is room for 190 streams, one of them of metadata.
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

/// What an elementary stream holds: `stream_type`, ISO/IEC 13818-1 table 2-34.
public struct ProgramStreamType: RawRepresentable, Hashable, Sendable {
  /// The number of the table.
  public let rawValue: UInt8

  /// A type by its number.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// AAC in ADTS.
  public static let adtsAAC = Self(rawValue: 0x0F)
  /// Metadata in PES packets, here ID3.
  public static let metadata = Self(rawValue: 0x15)
  /// H.264 as a byte stream.
  public static let h264 = Self(rawValue: 0x1B)
}

/// The descriptors that announce ID3 in a transport stream: ISO/IEC 13818-1 §2.6.58 and §2.6.60, with the values of
/// Apple's "Timed Metadata for HTTP Live Streaming" §2.3.
///
/// | bits | field |
/// |------|-------|
/// | 8, 8 | descriptor_tag, descriptor_length |
/// | 16, 32 | metadata_application_format 0xFFFF: the identifier that follows, "ID3 " |
/// | 8, 32 | metadata_format 0xFF: the identifier that follows, "ID3 " |
/// | 8    | metadata_service_id, the same in both |
enum MetadataDescriptor {
  private static let pointerTag: UInt8 = 37
  private static let metadataTag: UInt8 = 38
  private static let identifiers: [UInt8] =
    [0xFF, 0xFF] + Array("ID3 ".utf8) + [0xFF] + Array("ID3 ".utf8) + [0]  // metadata_service_id

  /// `metadata_pointer_descriptor`, which tells of the program that it has metadata: no locator (1 bit), in this
  /// transport stream (2 bits), reserved ones (5 bits), and the program's number.
  static let pointer: [UInt8] = {
    var content = Self.identifiers + [0b0001_1111]
    content.appendInteger(ProgramMap.programNumber)
    return [Self.pointerTag, UInt8(content.count)] + content
  }()

  /// `metadata_descriptor`, which tells of the elementary stream what is in it: no configuration (3 bits), no DSM-CC
  /// (1 bit), reserved ones (4 bits).
  static let stream: [UInt8] = {
    let content = Self.identifiers + [0b0000_1111]
    return [Self.metadataTag, UInt8(content.count)] + content
  }()
}

/// The packet identifiers (PID, 13 bits) that matter here, ISO/IEC 13818-1 table 2-3, and those that the muxer assigns.
enum PacketIdentifier {
  /// The program association table.
  static let programAssociation: UInt16 = 0x0000
  /// Assigned to the program map.
  static let programMap: UInt16 = 0x1000
  /// Assigned to the pictures.
  static let video: UInt16 = 0x0100
  /// Assigned to the sound.
  static let audio: UInt16 = 0x0101
  /// Assigned to what is told beside them.
  static let metadata: UInt16 = 0x0102
  /// Padding; as a program's clock PID it says that there is no clock.
  static let null: UInt16 = 0x1FFF
}
