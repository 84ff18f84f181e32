public import Media

/// AAC decoder configuration, ISO/IEC 14496-3 §1.6.2.1, for the object types AAC Main, LC, SSR and LTP.
///
/// | bits     | field |
/// |----------|-------|
/// | 5        | audioObjectType (2 is AAC-LC) |
/// | 4 (+ 24) | samplingFrequencyIndex (15: samplingFrequency follows) |
/// | 4        | channelConfiguration |
/// | 1        | frameLengthFlag: 960 instead of 1024 samples |
/// | 1 (+ 14) | dependsOnCoreCoder, coreCoderDelay |
/// | 1        | extensionFlag |
/// | n        | program_config_element() where channelConfiguration is 0 |
///
/// Spectral band replication ("HE-AAC") is signaled before the object type of the core or after all other fields; the
/// fields here are those of the core, which every decoder plays.
public struct AudioSpecificConfig: Hashable, Sendable {
  /// Spectral band replication (SBR) on top of the core.
  public struct SpectralBandReplication: Hashable, Sendable {
    /// Samples per second of the output, 1 to 2²⁴ - 1; usually twice the rate of the core.
    public var samplingFrequency: Int
    /// Whether parametric stereo makes two channels of one: "HE-AAC v2".
    public var hasParametricStereo: Bool
    /// Whether SBR is signaled after the fields of the core (`syncExtensionType`), which older decoders ignore.
    public var isBackwardCompatible: Bool

    /// Creates an extension; the sampling frequency is that of the output, in Hz.
    public init(samplingFrequency: Int, hasParametricStereo: Bool, isBackwardCompatible: Bool) {
      self.samplingFrequency = samplingFrequency
      self.hasParametricStereo = hasParametricStereo
      self.isBackwardCompatible = isBackwardCompatible
    }
  }

  /// Audio object type of the core: 1 Main, 2 LC, 3 SSR, 4 LTP.
  public var audioObjectType: UInt8
  /// Samples per second of the core, 1 to 2²⁴ - 1.
  public var samplingFrequency: Int
  /// `channelConfiguration`: 1 to 6 channels, 7 for eight channels, 0 for those of ``programConfig``.
  public var channelConfiguration: UInt8
  /// Channels of ``channelConfiguration`` 0; nil for others.
  public var programConfig: ProgramConfigElement?
  /// Samples per channel in a frame of the core: 1024 or 960.
  public var samplesPerFrame: Int
  /// SBR on top of the core, signaled before or after the core's fields; nil without it, as in plain AAC.
  public var spectralBandReplication: SpectralBandReplication?

  /// Creates a configuration of AAC-LC with 1024 samples per frame.
  ///
  /// - Returns: nil when the channel count is neither 1 to 6 nor 8, or the sample rate does not fit 24 bits.
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

  /// Sample rate and channel count of the decoded core.
  public var format: AudioFormat {
    AudioFormat(
      sampleRate: self.samplingFrequency,
      channelCount: self.programConfig?.channelCount
        ?? (self.channelConfiguration == 7 ? 8 : Int(self.channelConfiguration)))
  }

  /// Parses a configuration; trailing bytes that are no known extension are ignored.
  ///
  /// - Throws: `.truncated`; `.invalid` for a reserved sampling frequency; `.unsupported` for other object types, scalable
  ///   streams, and reserved channel configurations.
  public init(parsing bytes: [UInt8]) throws(ParsingError) {
    var reader = BitReader(bytes)
    try self.init(readingCore: &reader)
    if self.spectralBandReplication == nil, reader.remainingBits >= 16 {
      self.spectralBandReplication = try Self.readTrailingExtension(&reader)
    }
  }

  /// Reads the fields up to `extensionFlag`, as within other configurations.
  init(readingCore reader: inout BitReader) throws(ParsingError) {
    let start = reader.position
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
    guard self.channelConfiguration <= 7 else {
      throw ParsingError(.unsupported, field: "channelConfiguration", offset: channelOffset)
    }
    self.audioObjectType = UInt8(objectType)
    self.samplesPerFrame = try reader.flag("frameLengthFlag") ? 960 : 1024
    if try reader.flag("dependsOnCoreCoder") {
      throw ParsingError(.unsupported, field: "dependsOnCoreCoder", offset: reader.offset)
    }
    _ = try reader.flag("extensionFlag")
    if self.channelConfiguration == 0 { self.programConfig = try ProgramConfigElement(reading: &reader, from: start) }
  }

  /// Serializes the configuration, padded with zero bits to whole bytes.
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
    self.programConfig?.write(to: &writer)
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

  /// `GetAudioObjectType()`: 5 bits, or 6 more after the escape value 31.
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

/// Sampling frequencies with an index in AAC, ISO/IEC 14496-3 table 1.18.
enum AACSamplingFrequency {
  /// Escape index: the frequency follows in 24 bits.
  static let explicitIndex: UInt32 = 15

  private static let table = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
  ]

  /// Frequency of an index; nil for 13 to 15.
  static func frequency(index: UInt32) -> Int? {
    index < Self.table.count ? Self.table[Int(index)] : nil
  }

  /// Index of a frequency; nil when the table does not contain it.
  static func index(of frequency: Int) -> UInt32? {
    Self.table.firstIndex(of: frequency).map { UInt32($0) }
  }

  /// Reads an index, and the explicit frequency after the escape index.
  static func read(_ reader: inout BitReader, _ field: String) throws(ParsingError) -> Int {
    let offset = reader.offset
    let index = try reader.bits(4, field)
    let frequency = index == Self.explicitIndex ? Int(try reader.bits(24, field)) : Self.frequency(index: index)
    guard let frequency, frequency > 0 else { throw ParsingError(.invalid, field: field, offset: offset) }
    return frequency
  }

  /// Writes the index of a frequency, or the escape index and the frequency, which is at most 2²⁴ - 1.
  static func write(_ frequency: Int, to writer: inout BitWriter) {
    if let index = Self.index(of: frequency) {
      writer.write(index, bits: 4)
    } else {
      writer.write(Self.explicitIndex, bits: 4)
      writer.write(UInt32(truncatingIfNeeded: frequency), bits: 24)
    }
  }
}
