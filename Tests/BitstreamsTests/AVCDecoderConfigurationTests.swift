import Bitstreams
import Media
import NIOCore
import Testing

@Suite("AVC decoder configuration record, ISO/IEC 14496-15 §5.3.3.1")
struct AVCDecoderConfigurationTests {
  /// Record as libavformat writes it to FLV for libx264.
  static let record: [UInt8] = [
    0x01,  // configurationVersion
    0x64, 0x00, 0x1F,  // High, level 3.1
    0xFF,  // lengthSizeMinusOne 3
    0xE1,  // one sequence parameter set
    0x00, 0x04, 0x67, 0x64, 0x00, 0x1F,
    0x01,  // one picture parameter set
    0x00, 0x03, 0x68, 0xEB, 0xE3,
    0xFD, 0xF8, 0xF8, 0x00,  // 4:2:0, 8 bits, no extensions
  ]

  @Test func `a record is parsed`() throws {
    let configuration = try AVCDecoderConfiguration(parsing: Self.record)
    #expect(configuration.lengthSize == 4)
    #expect(configuration.sequenceParameterSets == [[0x67, 0x64, 0x00, 0x1F]])
    #expect(configuration.pictureParameterSets == [[0x68, 0xEB, 0xE3]])
  }

  /// Assembled after §5.3.3.1 around parameter sets of libx264.
  private static let high: [UInt8] =
    [
      0x01,  // configurationVersion
      0x64, 0x00, 0x1E,  // High, level 3.0
      0xFF,  // lengthSizeMinusOne 3
      0xE1,  // one sequence parameter set
      0x00, 0x1D,
    ] + Self.highSet + [
      0x01,  // one picture parameter set
      0x00, 0x03, 0x68, 0xEB, 0xE3,
      0xFD, 0xF8, 0xF8, 0x00,  // 4:2:0, 8 bits, no extensions
    ]

  /// Written by libx264 (core 164) through ffmpeg 5.1 on Debian 12: 720×576, High.
  private static let highSet: [UInt8] = [
    0x67, 0x64, 0x00, 0x1E, 0xAC, 0xD9, 0x40, 0xB4, 0x12, 0x6C, 0x11, 0xA8, 0x28, 0x28, 0x2A, 0x00, 0x00, 0x03, 0x00,
    0x02, 0x00, 0x00, 0x03, 0x00, 0x64, 0x1E, 0x2C, 0x5B, 0x2C,
  ]

  private func serialized(_ configuration: AVCDecoderConfiguration) -> [UInt8] {
    var buffer = ByteBuffer()
    configuration.serialize(into: &buffer)
    return Array(buffer.readableBytesView)
  }

  @Test(arguments: [
    Self.high,
    [1, 0x42, 0xC0, 0x1E, 0xFF, 0xE1, 0, 4, 0x67, 0x42, 0xC0, 0x1E, 1, 0, 2, 0x68, 0xCE],  // Baseline: no more fields
    [1, 0x42, 0, 30, 0xFD, 0xE2, 0, 4, 0x67, 0x42, 0, 30, 0, 1, 0x67, 2, 0, 1, 0x68, 0, 2, 0x68, 1],  // lengths of 2
    [1, 0, 0, 0, 0xFC, 0xE0, 0],  // no sets
  ])
  func `a record is serialized to the bytes that were parsed`(record: [UInt8]) throws {
    #expect(self.serialized(try AVCDecoderConfiguration(parsing: record)) == record)
  }

  @Test func `the record of a description repeats the profile and chroma format of its sequence parameter set`() throws
  {
    let description = H264Description(
      sequenceParameterSet: Self.highSet, pictureParameterSet: [0x68, 0xEB, 0xE3], width: 720, height: 576,
      frameRate: 25)
    #expect(self.serialized(AVCDecoderConfiguration(description)) == Self.high)
  }

  @Test func `every prefix of a serialized record throws`() throws {
    // Without the fields of High profiles, which a parser ignores.
    let record = self.serialized(
      AVCDecoderConfiguration(
        H264Description(
          sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1E], pictureParameterSet: [0x68, 0xCE], width: 640, height: 480,
          frameRate: 30)))
    for length in record.indices {
      let error = #expect(throws: ParsingError.self) { try AVCDecoderConfiguration(parsing: Array(record[..<length])) }
      #expect(error?.code == .truncated)
      #expect(error?.offset.map { $0 <= length } == true)
    }
  }

  @Test func `sets that do not fit their length field or count are left out`() throws {
    let maximum = [0x68] + [UInt8](repeating: 1, count: 65_534)
    var configuration = try AVCDecoderConfiguration(parsing: [1, 0, 0, 0, 0xFF, 0xE0, 0])
    configuration.sequenceParameterSets = Array(repeating: [0x67, 0x42, 0, 30], count: 40)
    configuration.pictureParameterSets = [[], maximum + [1], maximum] + Array(repeating: [0x68], count: 300)
    let parsed = try AVCDecoderConfiguration(parsing: self.serialized(configuration))
    #expect(parsed.sequenceParameterSets.count == 31)
    #expect(parsed.pictureParameterSets == [maximum] + Array(repeating: [0x68], count: 254))
    #expect(parsed.lengthSize == 4)
  }

  @Test func `each prefix that lacks a set is truncated`() {
    for length in 0..<(Self.record.count - 4) {
      let error = #expect(throws: ParsingError.self) {
        try AVCDecoderConfiguration(parsing: Array(Self.record[..<length]))
      }
      #expect(error?.code == .truncated)
    }
    for length in (Self.record.count - 4)...Self.record.count {
      #expect((try? AVCDecoderConfiguration(parsing: Array(Self.record[..<length]))) != nil)
    }
  }

  @Test func `sets may be several, none, or empty`() throws {
    let none = try AVCDecoderConfiguration(parsing: [1, 0x42, 0, 30, 0xFC, 0xE0, 0])
    #expect(none.lengthSize == 1 && none.sequenceParameterSets.isEmpty && none.pictureParameterSets.isEmpty)
    let several = try AVCDecoderConfiguration(
      parsing: [1, 0x42, 0, 30, 0xFD, 0xE2, 0, 1, 0x67, 0, 0, 2, 0, 1, 0x68, 0, 2, 0x68, 1])
    #expect(several.lengthSize == 2)
    #expect(several.sequenceParameterSets == [[0x67]])
    #expect(several.pictureParameterSets == [[0x68], [0x68, 1]])
  }

  @Test func `another version and lengths of three bytes are errors`() {
    var record = Self.record
    record[0] = 0
    #expect(throws: ParsingError(.unsupported, field: "configurationVersion", offset: 0)) {
      try AVCDecoderConfiguration(parsing: record)
    }
    record[0] = 1
    record[4] = 0xFE
    #expect(throws: ParsingError(.invalid, field: "lengthSizeMinusOne", offset: 4)) {
      try AVCDecoderConfiguration(parsing: record)
    }
  }
}
