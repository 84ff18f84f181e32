public import Media

/// The identifiers of a picture parameter set, ITU-T H.264 §7.3.2.2; the rest is for decoders.
public struct H264PictureParameterSet: Hashable, Sendable {
  /// `pic_parameter_set_id`, 0 to 255.
  public var id: UInt8
  /// `seq_parameter_set_id`, 0 to 31: the sequence parameter set that it builds upon.
  public var sequenceParameterSetID: UInt8

  /// Parses a NAL unit, header byte included, no start code.
  ///
  /// - Throws: ``ParsingError`` when it is no picture parameter set, ends too early, or has an identifier out of
  ///   range.
  public init(parsing nalUnit: [UInt8]) throws(ParsingError) {
    guard let header = nalUnit.first else { throw ParsingError(.truncated, field: "nal_unit_type", offset: 0) }
    guard H264NALUnitType(rawValue: header) == .pictureParameterSet else {
      throw ParsingError(.invalid, field: "nal_unit_type", offset: 0)
    }
    var reader = BitReader(H264EmulationPrevention.rawByteSequencePayload(of: nalUnit))
    self.id = UInt8(try reader.exponentialGolomb("pic_parameter_set_id", upTo: 255))
    self.sequenceParameterSetID = UInt8(try reader.exponentialGolomb("seq_parameter_set_id", upTo: 31))
  }
}
