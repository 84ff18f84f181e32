public import Media
public import NIOCore

/// ADTS header that precedes each AAC frame of a self-describing stream, ISO/IEC 13818-7 §6.2 and 14496-3 §1.A.2.2.
///
/// | bits | field |
/// |------|-------|
/// | 12   | syncword, all ones |
/// | 1, 2 | ID (1 is MPEG-2), layer (0) |
/// | 1    | protection_absent (0: a 16-bit CRC follows the header) |
/// | 2    | profile: audio object type - 1 |
/// | 4    | sampling_frequency_index |
/// | 1    | private_bit |
/// | 3    | channel_configuration |
/// | 4    | original_copy, home, copyright bits |
/// | 13   | frame_length in bytes, header included |
/// | 11   | adts_buffer_fullness (0x7FF: variable bit rate) |
/// | 2    | number_of_raw_data_blocks_in_frame - 1 |
public struct ADTSHeader: Hashable, Sendable {
  /// Whether the frame is MPEG-2 AAC (ID 1) instead of MPEG-4 AAC.
  public var isMPEG2 = false
  /// Audio object type: 1 Main, 2 LC, 3 SSR, 4 LTP.
  public var audioObjectType: UInt8
  /// Samples per second, one of the 13 rates that have an index, 7,350 to 96,000.
  public var samplingFrequency: Int
  /// `channel_configuration`: 1 to 6 channels, 7 for eight channels, 0 when the first raw data block describes them.
  public var channelConfiguration: UInt8
  /// Bytes after the header and CRC: 0 to 8184, or 8182 with a CRC.
  public var payloadLength: Int
  /// `adts_buffer_fullness`, 0 to 0x7FF; 0x7FF is a variable bitrate.
  public var bufferFullness: UInt16 = 0x7FF
  /// Number of raw data blocks in the frame, 1 to 4.
  public var rawDataBlockCount = 1
  /// CRC, if present; neither verified nor computed.
  public var crc: UInt16?

  /// Creates the header of an MPEG-4 AAC frame without CRC.
  ///
  /// - Returns: nil when an ADTS header cannot express the configuration: the sampling frequency has no index, frames have
  ///   960 samples, a program config element describes the channels, or the payload is longer than 8184 bytes.
  public init?(_ config: AudioSpecificConfig, payloadLength: Int) {
    guard
      AACSamplingFrequency.index(of: config.samplingFrequency) != nil, config.samplesPerFrame == 1024,
      config.programConfig == nil,
      (0...Self.maximumFrameLength - Self.minimumLength).contains(payloadLength)
    else { return nil }
    self.audioObjectType = config.audioObjectType
    self.samplingFrequency = config.samplingFrequency
    self.channelConfiguration = config.channelConfiguration
    self.payloadLength = payloadLength
  }

  /// Length of the header in bytes: 7, or 9 with a CRC.
  public var length: Int {
    self.crc == nil ? Self.minimumLength : Self.minimumLength + 2
  }

  /// Duration of the frame: 1024 samples for each raw data block.
  package var duration: MediaDuration {
    MediaDuration(nanoseconds: Int64(self.rawDataBlockCount) * 1024 * 1_000_000_000 / Int64(self.samplingFrequency))
  }

  /// Parses and consumes a header; on failure nothing is consumed.
  ///
  /// - Throws: `.truncated` when more bytes are needed, `.invalid` when no header starts here.
  public init(parsing buffer: inout ByteBuffer) throws(ParsingError) {
    var rest = buffer
    guard let bytes = rest.readBytes(length: Self.minimumLength) else {
      throw ParsingError(.truncated, field: "adts_fixed_header", offset: 0)
    }
    var reader = BitReader(bytes)
    guard try reader.bits(12, "syncword") == 0xFFF else {
      throw ParsingError(.invalid, field: "syncword", offset: 0)
    }
    self.isMPEG2 = try reader.flag("ID")
    guard try reader.bits(2, "layer") == 0 else { throw ParsingError(.invalid, field: "layer", offset: 1) }
    let hasCRC = try !reader.flag("protection_absent")
    self.audioObjectType = UInt8(try reader.bits(2, "profile")) + 1
    let index = try reader.bits(4, "sampling_frequency_index")
    guard let frequency = AACSamplingFrequency.frequency(index: index) else {
      throw ParsingError(.invalid, field: "sampling_frequency_index", offset: 2)
    }
    self.samplingFrequency = frequency
    _ = try reader.flag("private_bit")
    self.channelConfiguration = UInt8(try reader.bits(3, "channel_configuration"))
    _ = try reader.bits(4, "original_copy")
    let frameLength = Int(try reader.bits(13, "frame_length"))
    self.bufferFullness = UInt16(try reader.bits(11, "adts_buffer_fullness"))
    self.rawDataBlockCount = Int(try reader.bits(2, "number_of_raw_data_blocks_in_frame")) + 1
    if hasCRC {
      guard let crc = rest.readInteger(as: UInt16.self) else {
        throw ParsingError(.truncated, field: "crc_check", offset: Self.minimumLength)
      }
      self.crc = crc
    }
    self.payloadLength = frameLength - Self.minimumLength - (hasCRC ? 2 : 0)
    guard self.payloadLength >= 0 else { throw ParsingError(.invalid, field: "frame_length", offset: 3) }
    buffer = rest
  }

  /// Appends the header, and the CRC if present.
  public func serialize(into buffer: inout ByteBuffer) {
    // Both initializers check for an index; a frequency without one that is set later becomes 15, which parsers reject.
    let index = AACSamplingFrequency.index(of: self.samplingFrequency) ?? AACSamplingFrequency.explicitIndex
    var writer = BitWriter()
    writer.write(0xFFF, bits: 12)
    writer.write(self.isMPEG2 ? 0b100 : 0b000, bits: 3)
    writer.write(self.crc == nil ? 1 : 0, bits: 1)
    writer.write(UInt32(self.audioObjectType) &- 1, bits: 2)
    writer.write(index, bits: 4)
    writer.write(0, bits: 1)
    writer.write(UInt32(self.channelConfiguration), bits: 3)
    writer.write(0, bits: 4)
    writer.write(UInt32(truncatingIfNeeded: self.length + self.payloadLength), bits: 13)
    writer.write(UInt32(self.bufferFullness), bits: 11)
    writer.write(UInt32(truncatingIfNeeded: self.rawDataBlockCount &- 1), bits: 2)
    buffer.writeBytes(writer.bytes)
    if let crc = self.crc { buffer.writeInteger(crc) }
  }

  private static let minimumLength = 7
  private static let maximumFrameLength = 0x1FFF
}
