import Media
import NIOCore
import RTP
import Testing

@Suite("RTCP, RFC 3550 §6")
struct RTCPTests {
  /// Built by hand from the diagrams of §6.4 to §6.7: name, bytes, packet.
  static let golden: [(String, [UInt8], RTCPCompoundPacket)] = [
    (
      "SR, SDES",
      [
        0x80, 0xC8, 0x00, 0x06,  // V=2, no blocks; SR; 7 words
        0x00, 0x00, 0x00, 0x07,  // SSRC
        0x83, 0xAA, 0x7E, 0x80, 0x80, 0x00, 0x00, 0x00,  // 1970-01-01 and half a second
        0x00, 0x00, 0xAF, 0xC8,  // RTP timestamp
        0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x09,  // packets, octets
        0x81, 0xCA, 0x00, 0x03,  // one chunk; SDES; 4 words
        0x00, 0x00, 0x00, 0x07,
        0x01, 0x04, 0x61, 0x40, 0x62, 0x63, 0x00, 0x00,  // CNAME "a@bc", end, filling
      ],
      RTCPCompoundPacket([
        .senderReport(
          RTCPSenderReport(
            ssrc: 7, ntpTimestamp: NTPTimestamp(unixNanoseconds: 500_000_000), rtpTimestamp: 45_000, packetCount: 2,
            octetCount: 9)),
        .sourceDescription(RTCPSourceDescription(ssrc: 7, cname: "a@bc")),
      ])
    ),
    (
      "RR, BYE, APP",
      [
        0x81, 0xC9, 0x00, 0x07,  // one block; RR
        0x00, 0x00, 0x00, 0x08,
        0x00, 0x00, 0x00, 0x07,  // block: source
        0x40, 0xFF, 0xFF, 0xFE,  // fraction 64 / 256, cumulative -2
        0x00, 0x01, 0x00, 0x05, 0x00, 0x00, 0x00, 0x0A,  // highest, jitter
        0x7E, 0x80, 0x80, 0x00, 0x00, 0x01, 0x80, 0x00,  // LSR, DLSR of 1.5 s
        0x81, 0xCB, 0x00, 0x02,  // one source; BYE
        0x00, 0x00, 0x00, 0x08,
        0x03, 0x62, 0x79, 0x65,  // "bye"
        0x81, 0xCB, 0x00, 0x03, 0x00, 0x00, 0x00, 0x08,
        0x04, 0x6C, 0x61, 0x74, 0x65, 0x00, 0x00, 0x00,  // "late" and filling
        0x85, 0xCC, 0x00, 0x02, 0x00, 0x00, 0x00, 0x08, 0x6E, 0x61, 0x6D, 0x65,  // APP, subtype 5, "name"
      ],
      RTCPCompoundPacket([
        .receiverReport(
          RTCPReceiverReport(
            ssrc: 8,
            reportBlocks: [
              RTCPReportBlock(
                ssrc: 7, fractionLost: 64, cumulativeLost: -2, extendedHighestSequenceNumber: 0x1_0005, jitter: 10,
                lastSenderReport: 0x7E80_8000, delaySinceLastSenderReport: 98_304)
            ])),
        .goodbye(RTCPGoodbye(sources: [8], reason: "bye")),
        .goodbye(RTCPGoodbye(sources: [8], reason: "late")),
        .other(type: 204, count: 5, body: ByteBuffer(bytes: [0, 0, 0, 8, 0x6E, 0x61, 0x6D, 0x65])),
      ])
    ),
  ]

  @Test(arguments: golden)
  func `parsing and serializing are inverse`(name: String, bytes: [UInt8], packet: RTCPCompoundPacket) throws {
    #expect(try RTCPCompoundPacket(parsing: ByteBuffer(bytes: bytes)) == packet)
    #expect(Self.serialize(packet) == bytes)
  }

  @Test(arguments: golden)
  func `every prefix throws, unless it ends with a packet`(
    name: String, bytes: [UInt8], packet: RTCPCompoundPacket
  ) {
    let ends = packet.packets.indices.map { Self.serialize(RTCPCompoundPacket(Array(packet.packets[...$0]))).count }
    for length in 0..<bytes.count where !ends.contains(length) {
      #expect(throws: ParsingError.self) { try RTCPCompoundPacket(parsing: ByteBuffer(bytes: bytes.prefix(length))) }
    }
  }

  @Test(arguments: [
    ("no report first", [0x81, 0xCB, 0, 1, 0, 0, 0, 8], ParsingError(.invalid, field: "PT", offset: 1)),
    ("version 1", [0x40, 0xC9, 0, 1, 0, 0, 0, 8], ParsingError(.invalid, field: "V", offset: 0)),
    ("padding on the first", [0xA0, 0xC9, 0, 1, 0, 0, 0, 4], ParsingError(.invalid, field: "P", offset: 0)),
    ("block missing", [0x81, 0xC9, 0, 1, 0, 0, 0, 8], ParsingError(.truncated, field: "report block", offset: 0)),
    ("length past the end", [0x80, 0xC9, 0, 2, 0, 0, 0, 8], ParsingError(.truncated, field: "RTCP length", offset: 0)),
    ("junk behind", [0x80, 0xC9, 0, 1, 0, 0, 0, 8, 0x80], ParsingError(.truncated, field: "RTCP length", offset: 8)),
    (
      "BYE without its sources", [0x80, 0xC9, 0, 1, 0, 0, 0, 8, 0x82, 0xCB, 0, 1, 0, 0, 0, 8],
      ParsingError(.truncated, field: "BYE", offset: 8)
    ),
    (
      "SDES without an end", [0x80, 0xC9, 0, 1, 0, 0, 0, 8, 0x81, 0xCA, 0, 2, 0, 0, 0, 8, 1, 2, 0x61, 0x62],
      ParsingError(.truncated, field: "SDES item", offset: 8)
    ),
    (
      "padding too long", [0x80, 0xC9, 0, 1, 0, 0, 0, 8, 0xA0, 0xCB, 0, 1, 0, 0, 0, 8],
      ParsingError(.invalid, field: "padding", offset: 8)
    ),
  ])
  func `packets that fail the checks of A 2 are refused`(name: String, bytes: [UInt8], error: ParsingError) {
    #expect(throws: error, "\(name)") { try RTCPCompoundPacket(parsing: ByteBuffer(bytes: bytes)) }
  }

  @Test func `padding of the last packet is removed`() throws {
    let bytes: [UInt8] = [0x80, 0xC9, 0, 1, 0, 0, 0, 8, 0xA1, 0xCB, 0, 2, 0, 0, 0, 8, 0, 0, 0, 4]
    let packet = try RTCPCompoundPacket(parsing: ByteBuffer(bytes: bytes))
    #expect(packet.packets.last == .goodbye(RTCPGoodbye(sources: [8])))
  }

  @Test func `every item type survives a round trip, padded to four bytes`() throws {
    let items: [RTCPSourceDescription.Item] = [
      .init(.cname, "a"), .init(.name, "bc"), .init(.email, "def"), .init(.phone, "ghij"), .init(.location, ""),
      .init(.tool, String(repeating: "x", count: 300)), .init(.note, "ü"), .init(privatePrefix: "p", value: "vw"),
      .init(.init(rawValue: 200), value: [0xFF, 0x00]),
    ]
    for count in 0...items.count {
      let packet = RTCPCompoundPacket([
        .receiverReport(RTCPReceiverReport(ssrc: 1)),
        .sourceDescription(
          RTCPSourceDescription(chunks: [
            .init(ssrc: 1, items: Array(items.prefix(count))), .init(ssrc: 2, items: Array(items.suffix(count))),
          ])),
      ])
      #expect(try RTCPCompoundPacket(parsing: ByteBuffer(bytes: Self.serialize(packet))) == packet)
    }
    #expect(items[5].value.count == 255)
    #expect(items[7].privateExtension?.prefix == "p")
    #expect(items[7].privateExtension?.value == "vw")
    #expect(items[0].privateExtension == nil)
  }

  @Test(
    arguments: [
      (0, 0x83AA_7E80_0000_0000),  // 1970-01-01
      (500_000_000, 0x83AA_7E80_8000_0000),
      (-1_000_000_000, 0x83AA_7E7F_0000_0000),
      (2_085_978_495_999_999_999, 0xFFFF_FFFF_FFFF_FFFC),  // the last nanosecond before 2036-02-07 06:28:16
      (2_085_978_496_000_000_000, 0x0000_0000_0000_0000),
    ] as [(Int64, UInt64)])
  func `NTP time counts from 1900, wraps in 2036 and is exact to the nanosecond`(unix: Int64, ntp: UInt64) {
    let timestamp = NTPTimestamp(unixNanoseconds: unix)
    #expect(timestamp.rawValue == ntp)
    #expect(timestamp.unixNanoseconds == unix)
  }

  @Test func `the middle bits are seconds and 65 536th s`() {
    #expect(NTPTimestamp(rawValue: 0x0123_4567_89AB_CDEF).middle == 0x4567_89AB)
  }

  static func serialize(_ packet: RTCPCompoundPacket) -> [UInt8] {
    var buffer = ByteBuffer()
    packet.serialize(into: &buffer)
    return Array(buffer.readableBytesView)
  }
}
