public import Media
public import NIOCore

/// The `AVCDecoderConfigurationRecord` ("avcC"), ISO/IEC 14496-15 §5.3.3.1: the H.264 parameter sets of a track in MP4,
/// FLV and Matroska.
///
/// | bits    | field |
/// |---------|-------|
/// | 8       | configurationVersion: 1 |
/// | 24      | AVCProfileIndication, profile_compatibility, AVCLevelIndication: bytes 1 to 3 of the first SPS |
/// | 6 + 2   | reserved ones, lengthSizeMinusOne |
/// | 3 + 5   | reserved ones, numOfSequenceParameterSets; each behind its length in 16 bits |
/// | 8       | numOfPictureParameterSets; each behind its length in 16 bits |
/// | 6 + 2   | High profiles only: reserved ones, chroma_format |
/// | 5 + 3   | reserved ones, bit_depth_luma_minus8 |
/// | 5 + 3   | reserved ones, bit_depth_chroma_minus8 |
/// | 8       | numOfSequenceParameterSetExt: 0 |
///
/// The fields of High profiles repeat the sequence parameter set: parsing ignores them, serializing derives them.
public struct AVCDecoderConfiguration: Hashable, Sendable {
  /// Bytes of a NAL unit's length field in the samples: 1, 2 or 4.
  public var lengthSize: Int
  /// Sequence parameter sets as NAL units, header byte included, none empty; at most 31 are serialized.
  public var sequenceParameterSets: [[UInt8]]
  /// Picture parameter sets as NAL units, header byte included, none empty; at most 255 are serialized.
  public var pictureParameterSets: [[UInt8]]

  /// The record of a track whose samples have lengths of 4 bytes, as ``/Media/EncodedSample/payload`` has.
  public init(_ description: H264Description) {
    self.lengthSize = 4
    self.sequenceParameterSets = [description.sequenceParameterSet].filter { !$0.isEmpty }
    self.pictureParameterSets = [description.pictureParameterSet].filter { !$0.isEmpty }
  }

  /// Parses a record; empty parameter sets are left out.
  ///
  /// - Throws: `.unsupported` for a configurationVersion other than 1, `.invalid` for lengths of 3 bytes, `.truncated`
  ///   when the bytes end before the last parameter set.
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
    let pictureSets = try Self.byte(&rest, "numOfPictureParameterSets", at: offset(rest))
    self.pictureParameterSets = try Self.sets(pictureSets, "pictureParameterSetLength", &rest, of: count)
  }

  /// Appends the record.
  ///
  /// Parameter sets of more than 65,535 bytes, which no decoder accepts, are left out.
  public func serialize(into buffer: inout ByteBuffer) {
    let sequences = Self.serializable(self.sequenceParameterSets, maximum: 31)
    let pictureSets = Self.serializable(self.pictureParameterSets, maximum: 255)
    buffer.writeInteger(UInt8(1))  // configurationVersion
    let profile = sequences.first?.dropFirst().prefix(3) ?? []
    buffer.writeBytes(profile)
    buffer.writeRepeatingByte(0, count: 3 - profile.count)
    buffer.writeInteger(0b1111_1100 | UInt8(truncatingIfNeeded: self.lengthSize - 1) & 0b11)
    buffer.writeInteger(0b1110_0000 | UInt8(sequences.count))
    Self.write(sequences, to: &buffer)
    buffer.writeInteger(UInt8(pictureSets.count))
    Self.write(pictureSets, to: &buffer)
    guard let first = sequences.first, let set = try? H264SequenceParameterSet(parsing: first),
      ![66, 77, 88].contains(set.profileIDC)
    else { return }
    buffer.writeInteger(0b1111_1100 | set.chromaFormatIDC)
    buffer.writeInteger(0b1111_1000 | (set.bitDepthLuma - 8))
    buffer.writeInteger(0b1111_1000 | (set.bitDepthChroma - 8))
    buffer.writeInteger(UInt8(0))  // numOfSequenceParameterSetExt
  }

  private static func serializable(_ sets: [[UInt8]], maximum: Int) -> ArraySlice<[UInt8]> {
    sets.filter { (1...Int(UInt16.max)).contains($0.count) }.prefix(maximum)
  }

  private static func write(_ sets: ArraySlice<[UInt8]>, to buffer: inout ByteBuffer) {
    for set in sets {
      buffer.writeInteger(UInt16(clamping: set.count))
      buffer.writeBytes(set)
    }
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
