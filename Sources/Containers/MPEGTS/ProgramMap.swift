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
