public import Media
internal import NIOCore

/// The `AVCDecoderConfigurationRecord` ("avcC"), ISO/IEC 14496-15 §5.3.3.1: how MP4, FLV and Matroska tell H.264's parameter
/// sets.
///
/// | bits    | field |
/// |---------|-------|
/// | 8       | configurationVersion: 1 |
/// | 24      | profile, compatibility and level, as in the sequence parameter set |
/// | 6 + 2   | reserved, lengthSizeMinusOne |
/// | 3 + 5   | reserved, numOfSequenceParameterSets; each behind its length in 16 bits |
/// | 8       | numOfPictureParameterSets; each behind its length in 16 bits |
///
/// What follows for High profiles stands in the sequence parameter set too, and is skipped.
public struct AVCDecoderConfiguration: Hashable, Sendable {
  /// The bytes of a NAL unit's length in the samples: 1, 2 or 4.
  public var lengthSize: Int
  /// NAL units, header byte included; empty ones are left out.
  public var sequenceParameterSets: [[UInt8]]
  /// NAL units, header byte included; empty ones are left out.
  public var pictureParameterSets: [[UInt8]]

  /// Parses a record.
  ///
  /// - Throws: ``ParsingError`` when it is of another version, has lengths of 3 bytes, or ends too early.
  public init(parsing bytes: [UInt8]) throws(ParsingError) {
    var rest = ByteBuffer(bytes: bytes)
    let count = bytes.count
    func offset(_ rest: ByteBuffer) -> Int { count - rest.readableBytes }

    let version = try Self.byte(&rest, "configurationVersion", at: 0)
    guard version == 1 else { throw ParsingError(.unsupported, field: "configurationVersion", offset: 0) }
    guard rest.readSlice(length: 3) != nil else {
      throw ParsingError(.truncated, field: "AVCProfileIndication", offset: 1)
    }
    self.lengthSize = Int(try Self.byte(&rest, "lengthSizeMinusOne", at: 4) & 0b0000_0011) + 1
    guard self.lengthSize != 3 else { throw ParsingError(.invalid, field: "lengthSizeMinusOne", offset: 4) }
    let sequences = try Self.byte(&rest, "numOfSequenceParameterSets", at: offset(rest)) & 0b0001_1111
    self.sequenceParameterSets = try Self.sets(sequences, "sequenceParameterSetLength", &rest, of: count)
    let pictures = try Self.byte(&rest, "numOfPictureParameterSets", at: offset(rest))
    self.pictureParameterSets = try Self.sets(pictures, "pictureParameterSetLength", &rest, of: count)
  }

  private static func byte(_ rest: inout ByteBuffer, _ field: String, at offset: Int) throws(ParsingError) -> UInt8 {
    guard let byte = rest.readInteger(as: UInt8.self) else {
      throw ParsingError(.truncated, field: field, offset: offset)
    }
    return byte
  }

  private static func sets(
    _ count: UInt8, _ field: String, _ rest: inout ByteBuffer, of total: Int
  ) throws(ParsingError) -> [[UInt8]] {
    var sets: [[UInt8]] = []
    for _ in 0..<count {
      let offset = total - rest.readableBytes
      guard let length = rest.readInteger(as: UInt16.self), let set = rest.readBytes(length: Int(length)) else {
        throw ParsingError(.truncated, field: field, offset: offset)
      }
      if !set.isEmpty { sets.append(set) }
    }
    return sets
  }
}
