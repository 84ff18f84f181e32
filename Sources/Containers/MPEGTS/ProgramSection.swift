package import Media
package import NIOCore

/// Section of a program table: the fields around its content, ISO/IEC 13818-1 §2.4.4.
package struct ProgramSection {
  /// `version_number`, 0 to 31.
  var version: UInt8
  /// Bytes between last_section_number and the CRC.
  package var content: ByteBuffer

  package static let programAssociationID: UInt8 = 0
  static let programMapID: UInt8 = 2
  /// Maximum section_length, §2.4.4.4.
  static let maximumLength = 1021
  /// Bytes up to and including section_length.
  static let headLength = 3
  /// Bytes of table_id_extension, version, section_number and last_section_number + CRC.
  private static let frameLength = 5 + 4

  /// Parses a section and verifies its CRC; bytes after the section are ignored.
  package init(parsing section: ByteBuffer, tableID: UInt8) throws(ParsingError) {
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
    guard whole.withUnsafeReadableBytes(SectionCRC.checksum) == 0 else {
      throw ParsingError(.invalid, field: "CRC_32", offset: Self.headLength + sectionLength - 4)
    }
    guard version & 1 == 1 else { throw ParsingError(.unsupported, field: "current_next_indicator", offset: 5) }
    self.version = version >> 1 & 0b1_1111
    self.content = content
  }

  /// Serializes a section around its content.
  static func serialize(tableID: UInt8, extension: UInt16, version: UInt8, content: [UInt8]) -> [UInt8] {
    precondition(content.count <= Self.maximumLength - Self.frameLength, "a table fits one section")
    var section = [tableID]
    section.appendInteger(0b1011 << 12 | UInt16(content.count + Self.frameLength))
    section.appendInteger(`extension`)
    section.append(0b11 << 6 | (version & 0b1_1111) << 1 | 1)
    section += [0, 0]
    section += content
    section.appendInteger(section.withUnsafeBytes(SectionCRC.checksum))
    return section
  }

  /// Program association table (PAT) with one program, §2.4.4.3.
  static let programAssociation: [UInt8] = {
    var content: [UInt8] = []
    content.appendInteger(ProgramMap.programNumber)
    content.appendInteger(0b111 << 13 | PacketIdentifier.programMap)
    return Self.serialize(tableID: Self.programAssociationID, extension: 1, version: 0, content: content)
  }()
}

extension [UInt8] {
  /// Appends a big-endian number.
  mutating func appendInteger(_ value: UInt16) {
    Swift.withUnsafeBytes(of: value.bigEndian) { self.append(contentsOf: $0) }
  }

  /// Appends a big-endian number.
  mutating func appendInteger(_ value: UInt32) {
    Swift.withUnsafeBytes(of: value.bigEndian) { self.append(contentsOf: $0) }
  }
}

/// CRC-32/MPEG-2 of program tables, ISO/IEC 13818-1 annex A: polynomial 0x04C11DB7, initial value all ones, not reflected,
/// not inverted.
enum SectionCRC {
  /// Checksum of bytes; 0 over a section with its CRC.
  static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    // Bit by bit: sections of about 30 bytes and heads of recordings do not justify a table.
    var register = UInt32.max
    for index in 0..<bytes.count {
      register ^= UInt32(bytes[index]) << 24
      for _ in 0..<8 { register = register & 1 << 31 != 0 ? register << 1 ^ 0x04C1_1DB7 : register << 1 }
    }
    return register
  }
}
