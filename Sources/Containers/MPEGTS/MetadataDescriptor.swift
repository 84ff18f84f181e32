internal import NIOCore

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
