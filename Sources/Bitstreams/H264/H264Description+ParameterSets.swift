public import Media

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
