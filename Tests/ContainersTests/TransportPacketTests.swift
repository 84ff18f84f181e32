import Media
import NIOCore
import Testing
import TransportStreams

@testable import Containers

@Suite("Transport packets, ISO/IEC 13818-1 §2.4.3.2 to §2.4.3.5")
struct TransportPacketTests {
  /// A packet with a head and a payload of ones.
  private static func packet(_ head: [UInt8]) -> ByteBuffer {
    ByteBuffer(bytes: head + [UInt8](repeating: 0xFF, count: 188 - head.count))
  }

  @Test func `a packet with clock and payload is parsed field by field`() throws {
    let packet = try TransportPacket(
      parsing: Self.packet([
        0x47,  // sync_byte
        0x41, 0x02,  // payload_unit_start_indicator, PID 0x102
        0x3D,  // adaptation field and payload, continuity_counter 13
        0x07,  // adaptation_field_length
        0b1101_0000,  // discontinuity_indicator, random_access_indicator, PCR_flag
        0xFF, 0xFF, 0xFF, 0xFF, 0b1111_1111, 0x2B,  // PCR base 2³³ - 1, reserved ones, extension 299
      ]))
    #expect(packet.packetIdentifier == 0x102 && packet.startsUnit && packet.continuityCounter == 13)
    #expect(packet.isDiscontinuous && packet.isRandomAccess && packet.hasPayload)
    #expect(packet.programClock == ((1 << 33) - 1) * 300 + 299)
    #expect(packet.payload.readableBytes == 188 - 12)
  }

  @Test(
    arguments: [
      // Base 1, extension 0; base 0, extension 1; base 2³² (the highest of the 33 bits), extension 0.
      ([0, 0, 0, 0, 0x80, 0], 300), ([0, 0, 0, 0, 0, 1], 1), ([0x80, 0, 0, 0, 0, 0], (1 << 32) * 300),
      // The reserved bits between base and extension do not count.
      ([0, 0, 0, 1, 0x7E, 0], 600),
    ] as [([UInt8], UInt64)])
  func `a clock has 33 bits of 90 kHz and 9 bits of 27 MHz`(bytes: [UInt8], clock: UInt64) throws {
    let packet = try TransportPacket(parsing: Self.packet([0x47, 0x01, 0x00, 0x30, 0x07, 0b0001_0000] + bytes))
    #expect(packet.programClock == clock)
    #expect(!packet.isDiscontinuous && !packet.isRandomAccess && !packet.startsUnit)
  }

  @Test func `a packet without payload is parsed as such, whatever follows its adaptation field`() throws {
    let whole = try TransportPacket(parsing: Self.packet([0x47, 0x1F, 0xFF, 0x20, 183, 0x00]))
    #expect(whole.packetIdentifier == 0x1FFF && !whole.hasPayload && whole.payload.readableBytes == 0)
    let short = try TransportPacket(parsing: Self.packet([0x47, 0x01, 0x00, 0x20, 1, 0x40]))
    #expect(short.isRandomAccess && short.payload.readableBytes == 0)
    // An adaptation field of length 0 is one byte of stuffing.
    let stuffed = try TransportPacket(parsing: Self.packet([0x47, 0x01, 0x00, 0x30, 0]))
    #expect(stuffed.payload.readableBytes == 183 && stuffed.programClock == nil)
  }

  @Test(
    arguments: [
      ([0x48, 0x01, 0x00, 0x10], ParsingError(.invalid, field: "sync_byte", offset: 0)),
      ([0x47, 0x81, 0x00, 0x10], ParsingError(.invalid, field: "transport_error_indicator", offset: 1)),
      ([0x47, 0x01, 0x00, 0x90], ParsingError(.unsupported, field: "transport_scrambling_control", offset: 3)),
      ([0x47, 0x01, 0x00, 0x50], ParsingError(.unsupported, field: "transport_scrambling_control", offset: 3)),
      ([0x47, 0x01, 0x00, 0x30, 184], ParsingError(.invalid, field: "adaptation_field_length", offset: 4)),
      ([0x47, 0x01, 0x00, 0x30, 6, 0x10], ParsingError(.invalid, field: "program_clock_reference", offset: 6)),
    ] as [([UInt8], ParsingError)])
  func `an unusable packet is refused with the name of the field`(head: [UInt8], error: ParsingError) {
    #expect(throws: error) { try TransportPacket(parsing: Self.packet(head)) }
  }

  @Test func `fewer than 188 bytes are refused, further bytes are ignored`() throws {
    let bytes = Self.packet([0x47, 0x01, 0x00, 0x10])
    for length in [0, 1, 4, 187] {
      #expect(throws: ParsingError(.truncated, field: "transport_packet", offset: 0)) {
        try TransportPacket(parsing: ByteBuffer(bytes: bytes.readableBytesView.prefix(length)))
      }
    }
    #expect(
      try TransportPacket(parsing: ByteBuffer(bytes: Array(bytes.readableBytesView) + [1, 2, 3]))
        == TransportPacket(parsing: bytes))
  }
}

@Suite("Packets of elementary streams, ISO/IEC 13818-1 §2.4.3.6")
struct PESPacketTests {
  @Test(
    arguments: [
      (0, [0x21, 0x00, 0x01, 0x00, 0x01]), (1, [0x21, 0x00, 0x01, 0x00, 0x03]),
      (0x7FFF, [0x21, 0x00, 0x01, 0xFF, 0xFF]), (0x8000, [0x21, 0x00, 0x03, 0x00, 0x01]),
      (0x4000_0000, [0x23, 0x00, 0x01, 0x00, 0x01]), ((1 << 33) - 1, [0x2F, 0xFF, 0xFF, 0xFF, 0xFF]),
      (90_000, [0x21, 0x00, 0x05, 0xBF, 0x21]),
    ] as [(UInt64, [UInt8])])
  func `a timestamp is 3, 15 and 15 bits, each before a marker bit`(timestamp: UInt64, bytes: [UInt8]) throws {
    let header = PESHeader.packet(of: 0xC0, presentationTimestamp: timestamp, payloadLength: 2)
    #expect(header == [0, 0, 1, 0xC0, 0, 10, 0b1000_0100, 0b1000_0000, 5] + bytes)
    let packet = try PESPacket(parsing: ByteBuffer(bytes: header + [7, 8]))
    #expect(packet.presentationTimestamp == timestamp && packet.decodeTimestamp == nil && packet.streamID == 0xC0)
    #expect(Array(packet.payload.readableBytesView) == [7, 8])
  }

  @Test func `a decoding time follows the presentation time, each with its prefix`() throws {
    let header = PESHeader.video(presentationTimestamp: 9000, decodeTimestamp: 6000)
    #expect(header[6...8] == [0b1000_0100, 0b1100_0000, 10])
    #expect(header[9] >> 4 == 0b0011 && header[14] >> 4 == 0b0001)
    let packet = try PESPacket(parsing: ByteBuffer(bytes: header))
    #expect(packet.presentationTimestamp == 9000 && packet.decodeTimestamp == 6000)
    #expect(PESHeader.video(presentationTimestamp: 9000, decodeTimestamp: 9000).count == 14)
  }

  @Test func `stuffing and fields behind the timestamps are skipped`() throws {
    // ESCR_flag and an ESCR of 6 bytes, then two bytes of stuffing.
    let bytes: [UInt8] =
      [0, 0, 1, 0xE0, 0, 0, 0x80, 0b1010_0000, 13] + [0x21, 0x00, 0x01, 0x00, 0x03]
      + [UInt8](repeating: 0xAA, count: 6) + [0xFF, 0xFF] + [1, 2, 3]
    let packet = try PESPacket(parsing: ByteBuffer(bytes: bytes))
    #expect(packet.presentationTimestamp == 1 && Array(packet.payload.readableBytesView) == [1, 2, 3])
  }

  @Test func `a length ends the payload, and none leaves it open`() throws {
    let bytes: [UInt8] = [0, 0, 1, 0xE0, 0, 5, 0x80, 0x00, 0, 1, 2, 3, 4]
    #expect(Array(try PESPacket(parsing: ByteBuffer(bytes: bytes)).payload.readableBytesView) == [1, 2])
    var open = bytes
    open[5] = 0
    #expect(Array(try PESPacket(parsing: ByteBuffer(bytes: open)).payload.readableBytesView) == [1, 2, 3, 4])
  }

  @Test(
    arguments: [
      ([0, 0, 2, 0xE0, 0, 0, 0x80, 0, 0], ParsingError(.invalid, field: "packet_start_code_prefix", offset: 0)),
      // padding_stream, private_stream_2 and a program stream map have no flags.
      ([0, 0, 1, 0xBE, 0, 0, 0x80, 0, 0], ParsingError(.unsupported, field: "stream_id", offset: 3)),
      ([0, 0, 1, 0xBF, 0, 0, 0x80, 0, 0], ParsingError(.unsupported, field: "stream_id", offset: 3)),
      ([0, 0, 1, 0xF0, 0, 0, 0x80, 0, 0], ParsingError(.unsupported, field: "stream_id", offset: 3)),
      ([0, 0, 1, 0xE0, 0, 9, 0x80, 0, 0], ParsingError(.truncated, field: "PES_packet_length", offset: 4)),
      ([0, 0, 1, 0xE0, 0, 0, 0x00, 0, 0], ParsingError(.invalid, field: "PES_header", offset: 6)),
      ([0, 0, 1, 0xE0, 0, 0, 0x80, 0, 1], ParsingError(.truncated, field: "PES_header_data_length", offset: 8)),
      (
        [0, 0, 1, 0xE0, 0, 0, 0x80, 0x80, 4, 0x21, 0, 1, 0, 1],
        ParsingError(.truncated, field: "PTS", offset: 9)
      ),
      // Each of the three marker bits.
      ([0, 0, 1, 0xE0, 0, 0, 0x80, 0x80, 5, 0x20, 0, 1, 0, 1], ParsingError(.invalid, field: "PTS", offset: 9)),
      ([0, 0, 1, 0xE0, 0, 0, 0x80, 0x80, 5, 0x21, 0, 0, 0, 1], ParsingError(.invalid, field: "PTS", offset: 9)),
      ([0, 0, 1, 0xE0, 0, 0, 0x80, 0x80, 5, 0x21, 0, 1, 0, 0], ParsingError(.invalid, field: "PTS", offset: 9)),
      (
        [0, 0, 1, 0xE0, 0, 0, 0x80, 0xC0, 5, 0x31, 0, 1, 0, 1],
        ParsingError(.truncated, field: "DTS", offset: 9)
      ),
    ] as [([UInt8], ParsingError)])
  func `a malformed packet is refused with the name of the field`(bytes: [UInt8], error: ParsingError) {
    #expect(throws: error) { try PESPacket(parsing: ByteBuffer(bytes: bytes)) }
  }

  @Test func `every prefix of a packet with a length throws`() throws {
    let bytes = PESHeader.packet(of: 0xBD, presentationTimestamp: 5, payloadLength: 3) + [1, 2, 3]
    #expect(try PESPacket(parsing: ByteBuffer(bytes: bytes)).payload.readableBytes == 3)
    for length in bytes.indices {
      #expect(throws: ParsingError.self) { try PESPacket(parsing: ByteBuffer(bytes: bytes.prefix(length))) }
    }
  }

  @Test func `the maximum payload of audio fills the 16 bits of the length`() {
    let header = PESHeader.packet(
      of: 0xC0, presentationTimestamp: 0, payloadLength: PESHeader.maximumPayload)
    #expect(header[4...5] == [0xFF, 0xFF])
  }
}
