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

extension H264Description {
  /// The description that a pair of parameter sets gives.
  ///
  /// - Parameters:
  ///   - sequenceParameterSet: A NAL unit, header byte included, no start code.
  ///   - pictureParameterSet: A NAL unit, header byte included, no start code.
  ///   - frameRate: The rate to note when the parameter set does not tell one.
  /// - Throws: ``ParsingError`` when one of them cannot be parsed, or they do not belong together.
  public init(
    parsing sequenceParameterSet: [UInt8], pictureParameterSet: [UInt8], frameRate: FrameRate
  ) throws(ParsingError) {
    let sequence = try H264SequenceParameterSet(parsing: sequenceParameterSet)
    let picture = try H264PictureParameterSet(parsing: pictureParameterSet)
    guard picture.sequenceParameterSetID == sequence.id else {
      throw ParsingError(.invalid, field: "seq_parameter_set_id", offset: 1)
    }
    self.init(
      sequenceParameterSet: sequenceParameterSet, pictureParameterSet: pictureParameterSet,
      width: sequence.width, height: sequence.height, frameRate: sequence.frameRate ?? frameRate)
  }
}
