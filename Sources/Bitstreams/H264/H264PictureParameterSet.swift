public import Media

/// Identifiers of a picture parameter set, ITU-T H.264 §7.3.2.2; other fields are not parsed.
public struct H264PictureParameterSet: Hashable, Sendable {
  /// `pic_parameter_set_id`, 0 to 255.
  public var id: UInt8
  /// `seq_parameter_set_id` of the referenced sequence parameter set, 0 to 31.
  public var sequenceParameterSetID: UInt8

  /// Parses a NAL unit with header byte, without start code.
  ///
  /// - Throws: `.invalid` for another NAL unit type or an identifier out of range, `.truncated`.
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

extension H264Description {
  /// Derives frame size and rate from a pair of parameter sets.
  ///
  /// - Parameters:
  ///   - sequenceParameterSet: NAL unit with header byte, without start code.
  ///   - pictureParameterSet: NAL unit with header byte, without start code.
  ///   - frameRate: Fallback when the sequence parameter set has no timing.
  /// - Throws: Errors of the parsers; `.invalid` when the picture parameter set references another sequence parameter set.
  public init(
    parsing sequenceParameterSet: [UInt8], pictureParameterSet: [UInt8], frameRate: FrameRate
  ) throws(ParsingError) {
    let sequence = try H264SequenceParameterSet(parsing: sequenceParameterSet)
    let pictureSet = try H264PictureParameterSet(parsing: pictureParameterSet)
    guard pictureSet.sequenceParameterSetID == sequence.id else {
      throw ParsingError(.invalid, field: "seq_parameter_set_id", offset: 1)
    }
    self.init(
      sequenceParameterSet: sequenceParameterSet, pictureParameterSet: pictureParameterSet,
      width: sequence.width, height: sequence.height, frameRate: sequence.frameRate ?? frameRate)
  }
}
