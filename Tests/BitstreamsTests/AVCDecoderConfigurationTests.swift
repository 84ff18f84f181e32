import Bitstreams
import Media
import Testing

@Suite("AVC decoder configuration record, ISO/IEC 14496-15 §5.3.3.1")
struct AVCDecoderConfigurationTests {
  /// As libavformat writes it to FLV for libx264.
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
