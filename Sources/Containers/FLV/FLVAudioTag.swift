public import Media
public import NIOCore

/// The body of an FLV audio tag, and of an audio message of RTMP: AAC as in FLV 10.1 Annex E.4.2, or with the extended
/// header of Enhanced RTMP v2.
///
/// ```
/// FLV 10.1       format 10 (4 bits), rate 3 (2), size 1 (1), stereo 1 (1), AACPacketType (8), data
/// Enhanced RTMP  format 9 (4 bits), packet type (4), [ModEx: length, data, its type (4), packet type (4)] …, FourCC, data
/// ```
///
/// Rate, size and channels of the first byte are the same for all AAC; the configuration has the real ones.
public enum FLVAudioTag: Hashable, Sendable {
  /// The `AudioSpecificConfig` for all frames that follow.
  case configuration(ByteBuffer)
  /// A frame: one `raw_data_block`.
  case frame(ByteBuffer)
  /// The end of the sequence: no data follows.
  case endOfSequence
  /// Order of the channels, or no byte at all.
  case ignored

  /// Parses the body of a tag.
  ///
  /// - Throws: `.truncated`; `.unsupported` for another codec, which the field names, or for several tracks; `.invalid` for a
  ///   reserved packet type.
  public init(parsing body: ByteBuffer) throws(ParsingError) {
    var rest = body
    guard let first = rest.readInteger(as: UInt8.self) else {
      self = .ignored
      return
    }
    if first >> 4 == 9 {
      try self.init(extended: first, parsing: &rest)
      return
    }
    guard first >> 4 == 10 else {
      throw ParsingError(.unsupported, field: FLVCodecName.audio(id: first >> 4), offset: 0)
    }
    switch rest.readInteger(as: UInt8.self) {
    case 0: self = .configuration(rest.slice())
    case 1: self = .frame(rest.slice())
    case nil: throw ParsingError(.truncated, field: "AACPacketType", offset: 1)
    default: throw ParsingError(.invalid, field: "AACPacketType", offset: 1)
    }
  }

  /// Appends the body with the header of FLV 10.1, which every receiver knows; the end of the sequence has none.
  public func serialize(into buffer: inout ByteBuffer) {
    switch self {
    case .configuration(let configuration):
      buffer.writeMultipleIntegers(UInt8(0xAF), UInt8(0))
      buffer.writeImmutableBuffer(configuration)
    case .frame(let frame):
      buffer.writeMultipleIntegers(UInt8(0xAF), UInt8(1))
      buffer.writeImmutableBuffer(frame)
    case .endOfSequence, .ignored: break
    }
  }

  private init(extended first: UInt8, parsing rest: inout ByteBuffer) throws(ParsingError) {
    let length = rest.readableBytes + 1
    let packetType = try FLVModEx.packetType(behind: first & 0x0F, parsing: &rest)
    guard packetType != 5 else { throw ParsingError(.unsupported, field: "several audio tracks", offset: 0) }
    guard let code = rest.readInteger(as: UInt32.self).map(FourCharacterCode.init) else {
      throw ParsingError(.truncated, field: "audioFourCc", offset: length - rest.readableBytes)
    }
    guard code == "mp4a" else {
      throw ParsingError(.unsupported, field: FLVCodecName.audio(code), offset: length - rest.readableBytes - 4)
    }
    switch packetType {
    case 0: self = .configuration(rest.slice())
    case 1: self = .frame(rest.slice())
    case 2: self = .endOfSequence
    case 4: self = .ignored
    default: throw ParsingError(.invalid, field: "audioPacketType", offset: 0)
    }
  }
}
