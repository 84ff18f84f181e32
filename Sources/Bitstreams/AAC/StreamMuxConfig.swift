public import Media

/// Configuration of an AAC stream in LATM, `StreamMuxConfig()` of ISO/IEC 14496-3 §1.7.3.2.3, with one program and one layer.
///
/// | bits | field |
/// |------|-------|
/// | 1    | audioMuxVersion, 0 |
/// | 1    | allStreamsSameTimeFraming |
/// | 6    | numSubFrames: frames in an element, less 1 |
/// | 4, 3 | numProgram, numLayer, 0 |
/// | …    | AudioSpecificConfig |
/// | 3    | frameLengthType, 0: each frame with its length |
/// | 8    | latmBufferFullness |
/// | 1, 1 | otherDataPresent, crcCheckPresent |
public struct StreamMuxConfig: Hashable, Sendable {
  /// Frames in an element, 1 to 64.
  public var frameCount: Int
  /// Bytes of the `AudioSpecificConfig`, padded with zero bits.
  public var audioSpecificConfig: [UInt8]

  /// Parses a configuration.
  ///
  /// - Throws: `.truncated`; `.unsupported` for later versions, several programs or layers, other data, and what
  ///   ``AudioSpecificConfig`` does not support.
  public init(parsing bytes: [UInt8]) throws(ParsingError) {
    var reader = BitReader(bytes)
    guard try reader.bits(1, "audioMuxVersion") == 0 else { throw ParsingError(.unsupported, field: "audioMuxVersion") }
    _ = try reader.bits(1, "allStreamsSameTimeFraming")
    self.frameCount = Int(try reader.bits(6, "numSubFrames")) + 1
    guard try reader.bits(7, "numProgram") == 0 else { throw ParsingError(.unsupported, field: "numProgram") }
    self.audioSpecificConfig = try AudioSpecificConfig(readingCore: &reader).serialize()
    // GStreamer writes the configuration with its extension, and nothing behind it.
    var copy = reader
    guard reader.remainingBits >= 13, (try? copy.bits(11, "syncExtensionType")) != 0x2B7 else { return }
    guard try reader.bits(3, "frameLengthType") == 0 else { throw ParsingError(.unsupported, field: "frameLengthType") }
    _ = try reader.bits(8, "latmBufferFullness")
    guard try reader.bits(2, "otherDataPresent") == 0 else {
      throw ParsingError(.unsupported, field: "otherDataPresent")
    }
  }
}
