import Media
import NIOCore
import Testing

@testable import RTP

@Suite("RTCP at its limits, RFC 3550 §6")
struct RTCPLimitsTests {
  private static func block(_ ssrc: UInt32, lost: Int32 = 0) -> RTCPReportBlock {
    RTCPReportBlock(
      ssrc: ssrc, fractionLost: 255, cumulativeLost: lost, extendedHighestSequenceNumber: .max, jitter: .max,
      lastSenderReport: .max, delaySinceLastSenderReport: .max)
  }

  private static func parse(_ packets: RTCPPacket...) throws -> [RTCPPacket] {
    try RTCPCompoundPacket(parsing: ByteBuffer(bytes: RTCPTests.serialize(RTCPCompoundPacket(packets)))).packets
  }

  @Test func `a sender report with 31 blocks and an extension survives a round trip`() throws {
    let report = RTCPPacket.senderReport(
      RTCPSenderReport(
        ssrc: .max, ntpTimestamp: NTPTimestamp(rawValue: .max), rtpTimestamp: .max, packetCount: .max,
        octetCount: .max, reportBlocks: (0..<31).map { Self.block($0) },
        profileExtension: ByteBuffer(bytes: [1, 2, 3, 4, 5, 6, 7, 8])))
    #expect(try Self.parse(report) == [report])
    // 8 bytes of header and SSRC, 20 of sender information, 31 × 24 of blocks, 8 of extension.
    let bytes = RTCPTests.serialize(RTCPCompoundPacket([report]))
    #expect(bytes.count == 8 + 20 + 31 * 24 + 8)
    #expect(bytes[0] == 0b1001_1111 && bytes[2] == 0 && Int(bytes[3]) == bytes.count / 4 - 1)
  }

  @Test func `an extension of a receiver report is kept apart from its blocks`() throws {
    let extended = RTCPReceiverReport(
      ssrc: 1, reportBlocks: [Self.block(2)], profileExtension: ByteBuffer(bytes: [9, 9, 9, 9]))
    #expect(try Self.parse(.receiverReport(extended)) == [.receiverReport(extended)])
    #expect(
      try Self.parse(.receiverReport(RTCPReceiverReport(ssrc: 1))) == [.receiverReport(RTCPReceiverReport(ssrc: 1))])
  }

  @Test(
    arguments: [
      (0, [0x00, 0x00, 0x00]), (1, [0x00, 0x00, 0x01]), (-1, [0xFF, 0xFF, 0xFF]), (0x7F_FFFF, [0x7F, 0xFF, 0xFF]),
      (-0x80_0000, [0x80, 0x00, 0x00]),
      // Beyond 24 bits the ends of the range are sent, §A.3.
      (0x80_0000, [0x7F, 0xFF, 0xFF]), (-0x80_0001, [0x80, 0x00, 0x00]), (.max, [0x7F, 0xFF, 0xFF]),
      (.min, [0x80, 0x00, 0x00]),
    ] as [(Int32, [UInt8])])
  func `the number of lost packets has 24 bits and a sign`(lost: Int32, bytes: [UInt8]) throws {
    let report = RTCPReceiverReport(ssrc: 1, reportBlocks: [Self.block(2, lost: lost)])
    let sent = RTCPTests.serialize(RTCPCompoundPacket([.receiverReport(report)]))
    #expect(sent[12] == 255 && Array(sent[13..<16]) == bytes)
    guard case .receiverReport(let received)? = try Self.parse(.receiverReport(report)).first else {
      Issue.record("no receiver report")
      return
    }
    #expect(received.reportBlocks.first?.cumulativeLost == min(max(lost, -0x80_0000), 0x7F_FFFF))
  }

  @Test func `every BYE reason of up to 255 bytes survives, padded to words`() throws {
    for length in [0, 1, 2, 3, 4, 252, 253, 254, 255] {
      let goodbye = RTCPGoodbye(sources: [1, 2], reason: String(repeating: "x", count: length))
      let report = RTCPPacket.receiverReport(RTCPReceiverReport(ssrc: 1))
      #expect(try Self.parse(report, .goodbye(goodbye)) == [report, .goodbye(goodbye)])
      #expect(RTCPTests.serialize(RTCPCompoundPacket([.goodbye(goodbye)])).count.isMultiple(of: 4))
    }
    #expect(RTCPGoodbye(sources: [], reason: String(repeating: "x", count: 256)).reason?.count == 255)
    #expect(RTCPGoodbye(sources: []).reasonText == nil)
  }

  @Test func `a BYE may have 31 sources or none`() throws {
    let report = RTCPPacket.receiverReport(RTCPReceiverReport(ssrc: 1))
    for count: UInt32 in [0, 31] {
      let goodbye = RTCPGoodbye(sources: Array(0..<count))
      #expect(try Self.parse(report, .goodbye(goodbye)).last == .goodbye(goodbye))
    }
  }

  @Test func `a reason or item that is not UTF-8 is shown with replacement characters`() throws {
    let bytes: [UInt8] = [0x80, 0xC9, 0, 1, 0, 0, 0, 8, 0x81, 0xCB, 0, 2, 0, 0, 0, 8, 2, 0xFF, 0x61, 0]
    guard case .goodbye(let goodbye)? = try RTCPCompoundPacket(parsing: ByteBuffer(bytes: bytes)).packets.last else {
      Issue.record("no BYE")
      return
    }
    #expect(goodbye.reason == [0xFF, 0x61] && goodbye.reasonText == "\u{FFFD}a")
    #expect(RTCPSourceDescription.Item(.note, value: [0xC3]).text == "\u{FFFD}")
  }

  @Test(arguments: [("é", 127), ("€", 85), ("👍", 63), ("x", 255)])
  func `a text of more than 255 bytes is truncated at a character boundary`(character: String, count: Int) {
    let text = String(repeating: character, count: 300)
    let item = RTCPSourceDescription.Item(.cname, text)
    #expect(item.text == String(repeating: character, count: count))
    #expect(item.value.count <= 255 && item.value.count + character.utf8.count > 255)
    #expect(RTCPGoodbye(sources: [1], reason: text).reasonText == item.text)
  }

  @Test func `a private extension shares 254 bytes between prefix and value`() {
    let long = RTCPSourceDescription.Item(privatePrefix: String(repeating: "p", count: 300), value: "v")
    #expect(long.value.count == 255 && long.value.first == 254)
    #expect(long.privateExtension?.prefix == String(repeating: "p", count: 254) && long.privateExtension?.value == "")
    let value = RTCPSourceDescription.Item(privatePrefix: "p", value: String(repeating: "v", count: 300))
    #expect(value.privateExtension?.value == String(repeating: "v", count: 253))
    for invalid: [UInt8] in [[], [1], [200, 1, 2], [3, 1, 2]] {
      #expect(RTCPSourceDescription.Item(.privateExtension, value: invalid).privateExtension == nil)
    }
  }

  @Test func `an APP packet, or feedback of an unknown format, is kept as it is, with its subtype`() throws {
    let report = RTCPPacket.receiverReport(RTCPReceiverReport(ssrc: 1))
    for (type, count) in [(UInt8(204), UInt8(31)), (192, 0), (199, 2), (208, 1)] {
      let other = RTCPPacket.other(type: type, count: count, body: ByteBuffer(bytes: [0, 0, 0, 1, 0, 0, 0, 2]))
      #expect(other.type == type)
      #expect(try Self.parse(report, other) == [report, other])
    }
    for (type, format) in [(UInt8(205), UInt8(8)), (205, 31), (206, 2), (206, 31)] {
      let body = ByteBuffer(bytes: [0, 0, 0, 3])
      let feedback = RTCPPacket.feedback(
        RTCPFeedback(senderSSRC: 1, mediaSSRC: 2, message: .other(type: type, format: format, body: body)))
      #expect(feedback.type == type)
      #expect(try Self.parse(report, feedback) == [report, feedback])
    }
  }

  @Test func `a packet without a body is one word long`() throws {
    let bytes: [UInt8] = [0x80, 0xC9, 0, 1, 0, 0, 0, 8, 0x80, 0xCA, 0, 0, 0x80, 0xCB, 0, 0]
    let packets = try RTCPCompoundPacket(parsing: ByteBuffer(bytes: bytes)).packets
    #expect(packets[1] == .sourceDescription(RTCPSourceDescription(chunks: [])))
    #expect(packets[2] == .goodbye(RTCPGoodbye(sources: [])))
    #expect(RTCPTests.serialize(RTCPCompoundPacket(packets)) == bytes)
  }

  @Test(arguments: [0, 3, 5, 12])
  func `padding that is not whole words within the packet is refused`(length: UInt8) {
    let bytes: [UInt8] = [0x80, 0xC9, 0, 1, 0, 0, 0, 8, 0xA1, 0xCB, 0, 2, 0, 0, 0, 8, 0, 0, 0, length]
    #expect(throws: ParsingError(.invalid, field: "padding", offset: 8)) {
      try RTCPCompoundPacket(parsing: ByteBuffer(bytes: bytes))
    }
  }

  /// Padding as libwebrtc writes it: 1, 3 and 2 bytes fill the last word, the last of which is their number, and P is
  /// set.
  @Test(
    arguments: [
      ([0x20, 0x01, 0x08, 0x01], 1, [0x08]), ([0x20, 0x02, 0x08, 0x09], 2, [0x08, 0x09]),
      ([0x20, 0x03, 0x08, 0x09, 0x0A, 0, 0, 3], 3, [0x08, 0x09, 0x0A]),
      ([0x20, 0x04, 0x08, 0x09, 0x0A, 0x0B, 0, 2], 4, [0x08, 0x09, 0x0A, 0x0B]),
    ] as [([UInt8], UInt8, [Int16])])
  func `transport-wide feedback whose last word is filled by padding is complete`(
    rest: [UInt8], count: UInt8, deltas: [Int16]
  ) throws {
    let hasPadding = count != 2
    let head: [UInt8] = [
      hasPadding ? 0xAF : 0x8F, 0xCD, 0, UInt8(4 + rest.count / 4), 0, 0, 0, 1, 0, 0, 0, 2, 0, 10, 0, count, 0, 0, 3, 4,
    ]
    let expected = RTCPCompoundPacket([
      .feedback(
        RTCPFeedback(
          senderSSRC: 1, mediaSSRC: 2,
          message: .transportWide(
            RTCPTransportWideFeedback(
              baseSequenceNumber: 10, statusCount: UInt16(count), referenceTime: 3, feedbackCount: 4,
              arrivals: deltas.enumerated().map { .init(sequenceNumber: 10 + UInt16($0), delta: $1) }))))
    ])
    let datagram = ByteBuffer(bytes: head + rest)
    #expect(try RTCPCompoundPacket(parsing: datagram, allowsReducedSize: true) == expected)
    // Behind a report too, as in compound packets.
    let report: [UInt8] = [0x80, 0xC9, 0, 1, 0, 0, 0, 1]
    let compound = try RTCPCompoundPacket(parsing: ByteBuffer(bytes: report + head + rest), allowsReducedSize: true)
    #expect(compound.packets.last == expected.packets[0] && compound.packets.count == 2)
    // RTSP has no reduced size.
    guard hasPadding else { return }
    #expect(throws: ParsingError.self) { try RTCPCompoundPacket(parsing: datagram) }
    #expect(throws: ParsingError.self) { try RTCPCompoundPacket(parsing: ByteBuffer(bytes: report + head + rest)) }
  }

  @Test func `padding longer than its packet is refused at reduced size too`() {
    let bytes: [UInt8] = [0xAF, 0xCD, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 10, 0, 13]
    #expect(throws: ParsingError(.invalid, field: "padding", offset: 0)) {
      try RTCPCompoundPacket(parsing: ByteBuffer(bytes: bytes), allowsReducedSize: true)
    }
    // Packets of other types keep whole words.
    let goodbye: [UInt8] = [0xA1, 0xCB, 0, 2, 0, 0, 0, 8, 0, 0, 0, 3]
    #expect(throws: ParsingError(.invalid, field: "padding", offset: 0)) {
      try RTCPCompoundPacket(parsing: ByteBuffer(bytes: goodbye), allowsReducedSize: true)
    }
  }

  @Test func `a slice of a larger buffer is parsed with offsets from its own start`() {
    var buffer = ByteBuffer(bytes: [1, 2, 3, 4, 0x80, 0xC9, 0, 1, 0, 0, 0, 8, 0x40, 0xCB, 0, 0])
    buffer.moveReaderIndex(forwardBy: 4)
    #expect(throws: ParsingError(.invalid, field: "V", offset: 8)) { try RTCPCompoundPacket(parsing: buffer) }
  }
}
