import Bitstreams
import Media
import NIOCore
import Testing

@Suite("AudioSpecificConfig, ISO/IEC 14496-3 §1.6.2.1")
struct AudioSpecificConfigTests {
  /// Bytes, object type, frequency, channels, samples a frame.
  static let plain: [([UInt8], UInt8, Int, Int, Int)] = [
    ([0x11, 0x90], 2, 48_000, 2, 1024),  // LC, index 3, 2 channels
    ([0x12, 0x08], 2, 44_100, 1, 1024),  // LC, index 4, 1 channel
    ([0x12, 0x38], 2, 44_100, 8, 1024),  // channel configuration 7
    ([0x11, 0x94], 2, 48_000, 2, 960),  // frameLengthFlag
    ([0x0A, 0x10], 1, 44_100, 2, 1024),  // AAC Main
    ([0x17, 0x80, 0x5C, 0x40, 0x10], 2, 47_232, 2, 1024),  // index 15, then 47232 = 0x00B880 in 24 bits
  ]

  @Test(arguments: plain)
  func `the core is parsed and written`(
    bytes: [UInt8], objectType: UInt8, frequency: Int, channels: Int, samples: Int
  ) throws {
    let config = try AudioSpecificConfig(parsing: bytes)
    #expect(config.audioObjectType == objectType)
    #expect(config.samplingFrequency == frequency)
    #expect(config.format == AudioFormat(sampleRate: frequency, channelCount: channels))
    #expect(config.samplesPerFrame == samples)
    #expect(config.spectralBandReplication == nil)
    #expect(config.serialize() == bytes)
  }

  /// Bytes, frequency of core and extension, parametric stereo, backward compatible.
  static let extended: [([UInt8], Int, Int, Bool, Bool)] = [
    ([0x2B, 0x11, 0x88, 0x00], 24_000, 48_000, false, false),  // type 5, index 6, 2 channels, index 3, type 2
    ([0xEB, 0x09, 0x88, 0x00], 24_000, 48_000, true, false),  // type 29, index 6, 1 channel, index 3, type 2
    ([0x13, 0x10, 0x56, 0xE5, 0x98], 24_000, 48_000, false, true),  // 0x2B7, 5, 1, index 3
    ([0x13, 0x08, 0x56, 0xE5, 0x9D, 0x48, 0x80], 24_000, 48_000, true, true),  // and 0x548, 1
  ]

  @Test(arguments: extended)
  func `spectral band replication leaves the core's values`(
    bytes: [UInt8], core: Int, extended: Int, hasParametricStereo: Bool, isBackwardCompatible: Bool
  ) throws {
    let config = try AudioSpecificConfig(parsing: bytes)
    #expect(config.audioObjectType == 2)
    #expect(config.samplingFrequency == core)
    #expect(
      config.spectralBandReplication
        == .init(
          samplingFrequency: extended, hasParametricStereo: hasParametricStereo,
          isBackwardCompatible: isBackwardCompatible))
    #expect(config.serialize() == bytes)
  }

  @Test(arguments: plain.map(\.0) + [[0x2B, 0x11, 0x88, 0x00], [0xEB, 0x09, 0x88, 0x00]])
  func `every prefix throws`(bytes: [UInt8]) {
    // The last byte of the extended ones holds only zeros of the core's flags and of filling.
    for length in 0..<bytes.count - 1 {
      #expect(throws: ParsingError.self) { try AudioSpecificConfig(parsing: Array(bytes.prefix(length))) }
    }
  }

  @Test(arguments: [
    ([0xF9, 0x48] as [UInt8], ParsingError(.unsupported, field: "audioObjectType", offset: 0)),  // type 42, USAC
    ([0x11, 0xC0], ParsingError(.unsupported, field: "channelConfiguration", offset: 1)),
    ([0x16, 0x90], ParsingError(.invalid, field: "samplingFrequencyIndex", offset: 0)),  // index 13
    ([0x17, 0x80, 0x00, 0x00, 0x10], ParsingError(.invalid, field: "samplingFrequencyIndex", offset: 0)),
  ])
  func `unsupported and reserved values throw`(bytes: [UInt8], error: ParsingError) {
    #expect(throws: error) { try AudioSpecificConfig(parsing: bytes + [0, 0, 0, 0]) }
  }

  /// Configurations that FFmpeg's encoder writes, with its name as comment and the mark of no SBR; the number of channels, and the elements in front,
  /// at the sides and behind.
  private static let programs: [(bytes: [UInt8], channels: Int, elements: [Int])] = [
    // 5.1(side), quad, 7.0 and 2.1.
    ([0x11, 0x80, 0x04, 0xC8, 0x44, 0x00, 0x20, 0x00, 0xC4, 0x0D] + Self.comment, 6, [2, 1, 1]),
    ([0x11, 0x80, 0x04, 0xC4, 0x04, 0x00, 0x21, 0x10, 0x0D] + Self.comment, 4, [1, 0, 1]),
    ([0x11, 0x80, 0x04, 0xC8, 0x44, 0x00, 0x20, 0x08, 0xC8, 0x0D] + Self.comment, 7, [2, 1, 1]),
    ([0x11, 0x80, 0x04, 0xC4, 0x01, 0x00, 0x20, 0x00, 0x0D] + Self.comment, 3, [1, 0, 0]),
  ]
  private static let comment = Array("Lavc59.37.100".utf8) + [0x56, 0xE5, 0x00]

  @Test func `channels that a program config element describes are counted, and written again`() throws {
    for (bytes, channels, elements) in Self.programs {
      let config = try AudioSpecificConfig(parsing: bytes)
      let program = try #require(config.programConfig)
      #expect(config.format == AudioFormat(sampleRate: 48_000, channelCount: channels))
      #expect([program.front, program.side, program.back].map(\.count) == elements)
      #expect(config.channelConfiguration == 0 && config.audioObjectType == 2 && config.spectralBandReplication == nil)
      #expect(try AudioSpecificConfig(parsing: config.serialize()) == config)
      #expect(ADTSHeader(config, payloadLength: 100) == nil)
      let end = bytes.count - 3
      for length in 2..<end {
        #expect(throws: ParsingError.self) { try AudioSpecificConfig(parsing: Array(bytes.prefix(length))) }
      }
    }
    #expect(throws: ParsingError.self, "no channel") {
      try AudioSpecificConfig(parsing: [0x11, 0x80, 0x04, 0xC0] + Array(repeating: 0, count: 8))
    }
  }

  @Test func `a format is serialized to the two bytes that every player supports`() {
    #expect(AudioSpecificConfig(format: AudioFormat(sampleRate: 48_000, channelCount: 2))?.serialize() == [0x11, 0x90])
    #expect(AudioSpecificConfig(format: AudioFormat(sampleRate: 44_100, channelCount: 1))?.serialize() == [0x12, 0x08])
    #expect(AudioSpecificConfig(format: AudioFormat(sampleRate: 48_000, channelCount: 7)) == nil)
    #expect(AudioSpecificConfig(format: AudioFormat(sampleRate: 1 << 24, channelCount: 1)) == nil)
  }
}

@Suite("ADTS header, ISO/IEC 14496-3 §1.A.2.2")
struct ADTSHeaderTests {
  /// Written by ffmpeg 5.1: AAC-LC, 48 kHz, stereo, a frame of 0x136 bytes with the header.
  static let stereo48: [UInt8] = [0xFF, 0xF1, 0x4C, 0x80, 0x26, 0xDF, 0xFC]

  @Test func `ffmpeg's header is parsed and written`() throws {
    var buffer = ByteBuffer(bytes: Self.stereo48 + [0x21])
    let header = try ADTSHeader(parsing: &buffer)
    #expect(header.audioObjectType == 2)
    #expect(header.samplingFrequency == 48_000)
    #expect(header.channelConfiguration == 2)
    #expect(header.payloadLength == 0x136 - 7)
    #expect(header.bufferFullness == 0x7FF)
    #expect(header.rawDataBlockCount == 1 && header.duration == MediaDuration(nanoseconds: 21_333_333))
    #expect(buffer.readableBytes == 1)
    #expect(Self.serialize(header) == Self.stereo48)
  }

  @Test func `a header with a CRC is two bytes longer`() throws {
    var buffer = ByteBuffer(bytes: [0xFF, 0xF0, 0x4C, 0x80, 0x26, 0xDF, 0xFC, 0xAB, 0xCD])
    let header = try ADTSHeader(parsing: &buffer)
    #expect(header.crc == 0xABCD)
    #expect(header.length == 9)
    #expect(header.payloadLength == 0x136 - 9)
    #expect(Self.serialize(header) == [0xFF, 0xF0, 0x4C, 0x80, 0x26, 0xDF, 0xFC, 0xAB, 0xCD])
  }

  @Test func `the header of a configuration is ffmpeg's`() throws {
    let config = try AudioSpecificConfig(parsing: [0x11, 0x90])
    #expect(ADTSHeader(config, payloadLength: 0x136 - 7).map(Self.serialize) == Self.stereo48)
    #expect(ADTSHeader(config, payloadLength: 8184) != nil)
    #expect(ADTSHeader(config, payloadLength: 8185) == nil)
  }

  @Test func `every prefix is truncated and consumes nothing`() {
    for length in 0..<Self.stereo48.count {
      var buffer = ByteBuffer(bytes: Self.stereo48.prefix(length))
      #expect(throws: ParsingError(.truncated, field: "adts_fixed_header", offset: 0)) {
        try ADTSHeader(parsing: &buffer)
      }
      #expect(buffer.readableBytes == length)
    }
  }

  @Test(arguments: [
    ([0xFF, 0xE1, 0x4C, 0x80, 0x26, 0xDF, 0xFC] as [UInt8], "syncword"),
    ([0xFF, 0xF3, 0x4C, 0x80, 0x26, 0xDF, 0xFC], "layer"),
    ([0xFF, 0xF1, 0x74, 0x80, 0x26, 0xDF, 0xFC], "sampling_frequency_index"),
    ([0xFF, 0xF1, 0x4C, 0x80, 0x00, 0xDF, 0xFC], "frame_length"),
  ])
  func `bytes without a syncword throw`(bytes: [UInt8], field: String) {
    var buffer = ByteBuffer(bytes: bytes)
    let error = #expect(throws: ParsingError.self) { try ADTSHeader(parsing: &buffer) }
    #expect(error?.field == field)
    #expect(error?.code == .invalid)
  }

  private static func serialize(_ header: ADTSHeader) -> [UInt8] {
    var buffer = ByteBuffer()
    header.serialize(into: &buffer)
    return Array(buffer.readableBytesView)
  }
}
