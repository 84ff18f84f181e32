import Media
import NIOCore
import RTP
import Testing

@Suite("RTP packet, RFC 3550 §5.1")
struct RTPPacketTests {
  /// Built by hand from the diagram of §5.1: name, bytes, packet.
  static let golden: [(String, [UInt8], RTPPacket)] = [
    (
      "plain",
      [
        0x80,  // V=2
        0xE0,  // M, PT 96
        0xFF, 0xFE,  // sequence number
        0x01, 0x02, 0x03, 0x04,  // timestamp
        0xDE, 0xAD, 0xBE, 0xEF,  // SSRC
        0x65, 0x88,  // payload
      ],
      Self.packet(payload: [0x65, 0x88])
    ),
    (
      "everything",
      [
        0xB2,  // V=2, P, X, CC 2
        0xE0, 0xFF, 0xFE, 0x01, 0x02, 0x03, 0x04, 0xDE, 0xAD, 0xBE, 0xEF,
        0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02,  // CSRC
        0xBE, 0xDE, 0x00, 0x01, 0x10, 0xAA, 0x00, 0x00,  // extension of one word
        0x77,  // payload
        0x00, 0x00, 0x03,  // padding
      ],
      {
        var packet = Self.packet(payload: [0x77])
        packet.header.contributingSources = [1, 2]
        packet.header.headerExtension = .init(profile: 0xBEDE, data: ByteBuffer(bytes: [0x10, 0xAA, 0x00, 0x00]))
        packet.paddingLength = 3
        return packet
      }()
    ),
  ]

  @Test(arguments: golden)
  func `parsing and serializing are inverse`(name: String, bytes: [UInt8], packet: RTPPacket) throws {
    #expect(try RTPPacket(parsing: ByteBuffer(bytes: bytes)) == packet)
    var buffer = ByteBuffer()
    packet.serialize(into: &buffer)
    #expect(Array(buffer.readableBytesView) == bytes)
  }

  @Test func `every prefix shorter than the header is truncated`() {
    let bytes = Self.golden[1].1
    for length in 0..<28 {
      // A cut that leaves a full header lets a last byte that is too large or zero be read as padding.
      #expect(throws: ParsingError.self) { try RTPPacket(parsing: ByteBuffer(bytes: bytes.prefix(length))) }
    }
    for length in 0..<12 {
      #expect(throws: ParsingError(.truncated, field: "RTP header")) {
        try RTPPacket(parsing: ByteBuffer(bytes: Self.golden[0].1.prefix(length)))
      }
    }
  }

  @Test func `a packet of another version is refused`() {
    var bytes = Self.golden[0].1
    bytes[0] = 0x40
    #expect(throws: ParsingError(.invalid, field: "V")) { try RTPPacket(parsing: ByteBuffer(bytes: bytes)) }
  }

  @Test(arguments: [(0, false), (1, true), (2, true), (3, false), (255, false)])
  func `padding is at most as long as the payload`(length: UInt8, isValid: Bool) {
    var bytes = Self.golden[0].1
    bytes[0] |= 0b0010_0000
    bytes[13] = length
    let packet = try? RTPPacket(parsing: ByteBuffer(bytes: bytes))
    #expect((packet != nil) == isValid)
    if let packet { #expect(packet.payload.readableBytes == 2 - Int(length)) }
  }

  @Test func `a timestamp unwraps in both directions`() {
    var unwrapper = RTPTimestampUnwrapper()
    #expect(unwrapper.unwrap(0xFFFF_FF00) == 0xFFFF_FF00)
    #expect(unwrapper.unwrap(0x100) == 0x1_0000_0100)
    #expect(unwrapper.unwrap(0xFFFF_FFFF) == 0xFFFF_FFFF)
    #expect(unwrapper.unwrap(0x7FFF_FFFF) == 0x7FFF_FFFF)
    var backwards = RTPTimestampUnwrapper()
    #expect(backwards.unwrap(5) == 5)
    #expect(backwards.unwrap(0xFFFF_FFFF) == -1)
  }

  private static func packet(payload: [UInt8]) -> RTPPacket {
    RTPPacket(
      header: RTPHeader(
        marker: true, payloadType: 96, sequenceNumber: 0xFFFE, timestamp: 0x0102_0304, ssrc: 0xDEAD_BEEF),
      payload: ByteBuffer(bytes: payload))
  }
}
