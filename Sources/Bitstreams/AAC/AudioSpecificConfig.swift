public import Media

/// How AAC sound is coded, ISO/IEC 14496-3 §1.6.2.1, for the object types AAC Main, LC, SSR and LTP.
///
/// | bits     | field |
/// |----------|-------|
/// | 5        | audioObjectType (2 is AAC-LC) |
/// | 4 (+ 24) | samplingFrequencyIndex (15: the frequency follows) |
/// | 4        | channelConfiguration |
/// | 1        | frameLengthFlag: 960 instead of 1024 samples |
/// | 1 (+ 14) | dependsOnCoreCoder, coreCoderDelay |
/// | 1        | extensionFlag |
///
/// Spectral band replication ("HE-AAC") may be told before the object type of the core or after everything; either way
/// the fields here are those of the core, whose sound every decoder can make.
public struct AudioSpecificConfig: Hashable, Sendable {
  /// Spectral band replication on top of the core.
  public struct SpectralBandReplication: Hashable, Sendable {
    /// Samples a second of the extended sound, 1 to 2²⁴ - 1: as a rule twice those of the core.
    public var samplingFrequency: Int
    /// Whether two channels are made of one: "HE-AAC v2".
    public var hasParametricStereo: Bool
    /// Whether it is told behind the core's fields (`syncExtensionType`), where older decoders do not see it, instead of
    /// before them.
    public var isBackwardCompatible: Bool

    /// An extension.
    public init(samplingFrequency: Int, hasParametricStereo: Bool, isBackwardCompatible: Bool) {
      self.samplingFrequency = samplingFrequency
      self.hasParametricStereo = hasParametricStereo
      self.isBackwardCompatible = isBackwardCompatible
    }
  }

  /// The object type of the core: 1 Main, 2 LC, 3 SSR, 4 LTP.
  public var audioObjectType: UInt8
  /// Samples a second of the core, 1 to 2²⁴ - 1.
  public var samplingFrequency: Int
  /// 1 to 6 are that many channels, 7 is eight.
  public var channelConfiguration: UInt8
  /// Samples of each channel in a frame of the core: 1024 or 960.
  public var samplesPerFrame: Int
  /// Spectral band replication, where it is told.
  public var spectralBandReplication: SpectralBandReplication?

  /// The configuration of AAC-LC with 1024 samples a frame.
  ///
  /// - Returns: nil when no channel configuration has that number of channels (1 to 6 and 8 exist), or the sample rate
  ///   does not fit 24 bits.
  public init?(format: AudioFormat) {
    switch format.channelCount {
    case 1...6: self.channelConfiguration = UInt8(format.channelCount)
    case 8: self.channelConfiguration = 7
    default: return nil
    }
    guard format.sampleRate < 1 << 24 else { return nil }
    self.audioObjectType = 2
    self.samplingFrequency = format.sampleRate
    self.samplesPerFrame = 1024
  }

  /// Sample rate and channels of the core's sound.
  public var format: AudioFormat {
    AudioFormat(
      sampleRate: self.samplingFrequency,
      channelCount: self.channelConfiguration == 7 ? 8 : Int(self.channelConfiguration))
  }

  /// Parses a configuration; bytes behind it that are no known extension are ignored.
  ///
  /// - Throws: ``ParsingError``: `.unsupported` for object types other than the four, scalable streams, and channels
  ///   that are laid out by a program config element (`channelConfiguration` 0).
  public init(parsing bytes: [UInt8]) throws(ParsingError) {
    var reader = BitReader(bytes)
    var objectType = try Self.readObjectType(&reader)
    self.samplingFrequency = try AACSamplingFrequency.read(&reader, "samplingFrequencyIndex")
    let channelOffset = reader.offset
    self.channelConfiguration = UInt8(try reader.bits(4, "channelConfiguration"))
    if objectType == Self.replicationType || objectType == Self.parametricStereoType {
      self.spectralBandReplication = SpectralBandReplication(
        samplingFrequency: try AACSamplingFrequency.read(&reader, "extensionSamplingFrequencyIndex"),
        hasParametricStereo: objectType == Self.parametricStereoType, isBackwardCompatible: false)
      objectType = try Self.readObjectType(&reader)
    }
    guard (1...4).contains(objectType) else {
      throw ParsingError(.unsupported, field: "audioObjectType", offset: 0)
    }
    guard (1...7).contains(self.channelConfiguration) else {
      throw ParsingError(.unsupported, field: "channelConfiguration", offset: channelOffset)
    }
    self.audioObjectType = UInt8(objectType)
    self.samplesPerFrame = try reader.flag("frameLengthFlag") ? 960 : 1024
    if try reader.flag("dependsOnCoreCoder") {
      throw ParsingError(.unsupported, field: "dependsOnCoreCoder", offset: reader.offset)
    }
    _ = try reader.flag("extensionFlag")
    if self.spectralBandReplication == nil, reader.remainingBits >= 16 {
      self.spectralBandReplication = try Self.readTrailingExtension(&reader)
    }
  }

  /// The configuration as bytes, the last one filled up with zeros.
  public func serialize() -> [UInt8] {
    var writer = BitWriter()
    if let extended = self.spectralBandReplication, !extended.isBackwardCompatible {
      writer.write(extended.hasParametricStereo ? Self.parametricStereoType : Self.replicationType, bits: 5)
      AACSamplingFrequency.write(self.samplingFrequency, to: &writer)
      writer.write(UInt32(self.channelConfiguration), bits: 4)
      AACSamplingFrequency.write(extended.samplingFrequency, to: &writer)
      writer.write(UInt32(self.audioObjectType), bits: 5)
    } else {
      writer.write(UInt32(self.audioObjectType), bits: 5)
      AACSamplingFrequency.write(self.samplingFrequency, to: &writer)
      writer.write(UInt32(self.channelConfiguration), bits: 4)
    }
    writer.write(self.samplesPerFrame == 960 ? 0b100 : 0b000, bits: 3)
    if let extended = self.spectralBandReplication, extended.isBackwardCompatible {
      writer.write(Self.replicationSync, bits: 11)
      writer.write(Self.replicationType, bits: 5)
      writer.write(1, bits: 1)
      AACSamplingFrequency.write(extended.samplingFrequency, to: &writer)
      if extended.hasParametricStereo {
        writer.write(Self.parametricStereoSync, bits: 11)
        writer.write(1, bits: 1)
      }
    }
    return writer.bytes
  }

  private static let replicationType: UInt32 = 5
  private static let parametricStereoType: UInt32 = 29
  private static let replicationSync: UInt32 = 0x2B7
  private static let parametricStereoSync: UInt32 = 0x548

  /// Five bits, or six more behind the number 31.
  private static func readObjectType(_ reader: inout BitReader) throws(ParsingError) -> UInt32 {
    let type = try reader.bits(5, "audioObjectType")
    return type == 31 ? 32 + (try reader.bits(6, "audioObjectTypeExt")) : type
  }

  private static func readTrailingExtension(
    _ reader: inout BitReader
  ) throws(ParsingError) -> SpectralBandReplication? {
    guard
      try reader.bits(11, "syncExtensionType") == Self.replicationSync,
      try Self.readObjectType(&reader) == Self.replicationType,
      try reader.flag("sbrPresentFlag")
    else { return nil }
    let frequency = try AACSamplingFrequency.read(&reader, "extensionSamplingFrequencyIndex")
    var hasParametricStereo = false
    if reader.remainingBits >= 12, try reader.bits(11, "syncExtensionType") == Self.parametricStereoSync {
      hasParametricStereo = try reader.flag("psPresentFlag")
    }
    return SpectralBandReplication(
      samplingFrequency: frequency, hasParametricStereo: hasParametricStereo, isBackwardCompatible: true)
  }
}

/// The sampling frequencies that AAC gives a number, ISO/IEC 14496-3 table 1.18.
enum AACSamplingFrequency {
  /// The index that says that the frequency follows in 24 bits.
  static let explicitIndex: UInt32 = 15

  private static let table = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
  ]

  /// The frequency of an index; nil for 13 to 15.
  static func frequency(index: UInt32) -> Int? {
    index < Self.table.count ? Self.table[Int(index)] : nil
  }

  /// The index of a frequency; nil when it has none.
  static func index(of frequency: Int) -> UInt32? {
    Self.table.firstIndex(of: frequency).map { UInt32($0) }
  }

  /// An index, and the frequency behind it where it is explicit.
  static func read(_ reader: inout BitReader, _ field: String) throws(ParsingError) -> Int {
    let offset = reader.offset
    let index = try reader.bits(4, field)
    let frequency = index == Self.explicitIndex ? Int(try reader.bits(24, field)) : Self.frequency(index: index)
    guard let frequency, frequency > 0 else { throw ParsingError(.invalid, field: field, offset: offset) }
    return frequency
  }

  /// The reverse of ``read(_:_:)``; a frequency is at most 2²⁴ - 1.
  static func write(_ frequency: Int, to writer: inout BitWriter) {
    if let index = Self.index(of: frequency) {
      writer.write(index, bits: 4)
    } else {
      writer.write(Self.explicitIndex, bits: 4)
      writer.write(UInt32(truncatingIfNeeded: frequency), bits: 24)
    }
  }
}
