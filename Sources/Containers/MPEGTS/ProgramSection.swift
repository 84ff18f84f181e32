internal import Media
internal import NIOCore

/// The frame of a program table: what stands before and behind its content, ISO/IEC 13818-1 §2.4.4.
struct ProgramSection {
  /// `version_number`, 0 to 31.
  var version: UInt8
  /// What stands between last_section_number and the CRC.
  var content: ByteBuffer

  static let programAssociationID: UInt8 = 0
  static let programMapID: UInt8 = 2
  /// section_length may be 1021 at most, §2.4.4.4.
  static let maximumLength = 1021
  /// Bytes up to section_length, it included.
  static let headLength = 3
  /// table_id_extension, version, section_number, last_section_number; and the CRC.
  private static let frameLength = 5 + 4

  /// Checks the frame of a section of a given table; bytes behind the section are ignored.
  init(parsing section: ByteBuffer, tableID: UInt8) throws(ParsingError) {
    var rest = section
    guard let id = rest.readInteger(as: UInt8.self), let length = rest.readInteger(as: UInt16.self) else {
      throw ParsingError(.truncated, field: "section_length", offset: 1)
    }
    guard id == tableID else { throw ParsingError(.invalid, field: "table_id", offset: 0) }
    let sectionLength = Int(length & 0x0FFF)
    guard (Self.frameLength...Self.maximumLength).contains(sectionLength) else {
      throw ParsingError(.invalid, field: "section_length", offset: 1)
    }
    guard
      let whole = section.getSlice(at: section.readerIndex, length: Self.headLength + sectionLength),
      rest.readInteger(as: UInt16.self) != nil, let version = rest.readInteger(as: UInt8.self),
      rest.readInteger(as: UInt16.self) != nil, let content = rest.readSlice(length: sectionLength - Self.frameLength)
    else { throw ParsingError(.truncated, field: "section_length", offset: 1) }
    guard SectionCRC.checksum(whole.readableBytesView) == 0 else {
      throw ParsingError(.invalid, field: "CRC_32", offset: Self.headLength + sectionLength - 4)
    }
    guard version & 1 == 1 else { throw ParsingError(.unsupported, field: "current_next_indicator", offset: 5) }
    self.version = version >> 1 & 0b1_1111
    self.content = content
  }

  /// A section around content.
  static func serialize(tableID: UInt8, extension: UInt16, version: UInt8, content: [UInt8]) -> [UInt8] {
    precondition(content.count <= Self.maximumLength - Self.frameLength, "a table of ours fits one section")
    var section = [tableID]
    section.appendInteger(0b1011 << 12 | UInt16(content.count + Self.frameLength))
    section.appendInteger(`extension`)
    section.append(0b11 << 6 | (version & 0b1_1111) << 1 | 1)
    section += [0, 0]
    section += content
    section.appendInteger(SectionCRC.checksum(section))
    return section
  }

  /// The program association table with one program, §2.4.4.3.
  static let programAssociation: [UInt8] = {
    var content: [UInt8] = []
    content.appendInteger(ProgramMap.programNumber)
    content.appendInteger(0b111 << 13 | PacketIdentifier.programMap)
    return Self.serialize(tableID: Self.programAssociationID, extension: 1, version: 0, content: content)
  }()
}

extension [UInt8] {
  /// Appends a number, highest byte first.
  mutating func appendInteger(_ value: UInt16) {
    Swift.withUnsafeBytes(of: value.bigEndian) { self.append(contentsOf: $0) }
  }

  /// Appends a number, highest byte first.
  mutating func appendInteger(_ value: UInt32) {
    Swift.withUnsafeBytes(of: value.bigEndian) { self.append(contentsOf: $0) }
  }
}

/// The CRC of program tables, ISO/IEC 13818-1 annex A: polynomial 0x04C11DB7, register preset to ones, bits not
/// reflected, result not inverted.
enum SectionCRC {
  /// The checksum of bytes; over a section with its CRC it is 0.
  static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
    // Bit by bit: two sections of some 30 bytes a segment are not worth a table.
    bytes.reduce(UInt32.max) { register, byte in
      (0..<8).reduce(register ^ UInt32(byte) << 24) { register, _ in
        register & 1 << 31 != 0 ? register << 1 ^ 0x04C1_1DB7 : register << 1
      }
    }
  }
}
