import Media
import NIOCore
import Testing

@testable import Containers

@Suite("Program tables, ISO/IEC 13818-1 §2.4.4")
struct ProgramTablesTests {
  /// Sections as ffmpeg's muxer writes them for one program with H.264 and AAC, CRC included.
  static let association: [UInt8] = [
    0x00,  // table_id
    0xB0, 0x0D,  // section_syntax_indicator, section_length 13
    0x00, 0x01,  // transport_stream_id
    0xC1,  // version 0, current
    0x00, 0x00,  // section_number, last_section_number
    0x00, 0x01, 0xF0, 0x00,  // program 1, PMT on PID 0x1000
    0x2A, 0xB1, 0x04, 0xB2,  // CRC_32
  ]
  static let map: [UInt8] = [
    0x02,  // table_id
    0xB0, 0x17,  // section_length 23
    0x00, 0x01,  // program_number
    0xC1, 0x00, 0x00,  // version 0, current; section 0 of 0
    0xE1, 0x00,  // PCR_PID 0x100
    0xF0, 0x00,  // program_info_length
    0x1B, 0xE1, 0x00, 0xF0, 0x00,  // H.264 on PID 0x100
    0x0F, 0xE1, 0x01, 0xF0, 0x00,  // AAC in ADTS on PID 0x101
    0x2F, 0x44, 0xB9, 0x9B,  // CRC_32
  ]
  static let programMap = ProgramMap(
    version: 0, clockPacketIdentifier: 0x100,
    streams: [.init(type: .h264, packetIdentifier: 0x100), .init(type: .adtsAAC, packetIdentifier: 0x101)])

  @Test func `the checksum is that of CRC-32 MPEG-2's check value`() {
    #expect(Array("123456789".utf8).withUnsafeBytes(SectionCRC.checksum) == 0x0376_E6E7)
  }

  @Test func `PAT and PMT are those of ffmpeg`() throws {
    #expect(ProgramSection.programAssociation == Self.association)
    #expect(Self.programMap.serialize() == Self.map)
    #expect(try ProgramMap(parsing: ByteBuffer(bytes: Self.map)) == Self.programMap)
  }

  @Test func `each prefix of a map, and a map with one bit changed, throws`() {
    for length in 0..<Self.map.count {
      #expect(throws: ParsingError.self) { try ProgramMap(parsing: ByteBuffer(bytes: Self.map.prefix(length))) }
    }
    for index in Self.map.indices {
      for bit in 0..<8 {
        var changed = Self.map
        changed[index] ^= 1 << bit
        // The bits beside section_length are covered by the CRC too.
        #expect(throws: ParsingError.self) { try ProgramMap(parsing: ByteBuffer(bytes: changed)) }
      }
    }
  }

  @Test func `a segment starts with PAT and PMT, one packet each, stuffed with 0xFF`() {
    var muxer = TransportStreamMuxer([TestSamples.h264, TestSamples.aac])
    var buffer = ByteBuffer()
    muxer.startSegment(into: &buffer)
    var expected: [UInt8] = [0x47, 0x40, 0x00, 0x10, 0x00] + Self.association
    expected += [UInt8](repeating: 0xFF, count: 188 - expected.count)
    expected += [0x47, 0x50, 0x00, 0x10, 0x00] + Self.map
    expected += [UInt8](repeating: 0xFF, count: 376 - expected.count)
    #expect(Array(buffer.readableBytesView) == expected)
  }
}
