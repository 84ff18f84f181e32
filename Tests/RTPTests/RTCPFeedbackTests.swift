import Media
import NIOCore
import RTP
import Testing

@Suite("RTCP feedback and extended reports, RFC 4585, RFC 5104 and RFC 3611")
struct RTCPFeedbackTests {
  /// Built by hand from the diagrams of the RFCs and drafts: name, bytes, packet.
  static let golden: [(String, [UInt8], RTCPPacket)] = [
    (
      "NACK, RFC 4585 §6.2.1",
      [
        0x81, 0xCD, 0x00, 0x04,  // FMT 1; RTPFB; 5 words
        0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x07,  // sender, media
        0xFF, 0xFF, 0x80, 0x01,  // 65535, 0 and 15
        0x00, 0x20, 0x00, 0x00,  // 32
      ],
      .feedback(
        RTCPFeedback(
          senderSSRC: 8, mediaSSRC: 7,
          message: .nack([
            RTCPNackPair(packetID: 0xFFFF, followingMask: 0x8001), RTCPNackPair(packetID: 32, followingMask: 0),
          ])))
    ),
    (
      "PLI, RFC 4585 §6.3.1", [0x81, 0xCE, 0x00, 0x02, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x07],
      .feedback(RTCPFeedback(senderSSRC: 8, mediaSSRC: 7, message: .pictureLossIndication))
    ),
    (
      "FIR, RFC 5104 §4.3.1",
      [
        0x84, 0xCE, 0x00, 0x04, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x07, 0x2A, 0x00, 0x00, 0x00,  // SSRC, sequence number 42
      ],
      .feedback(
        RTCPFeedback(
          senderSSRC: 8, mediaSSRC: 0, message: .fullIntraRequest([.init(ssrc: 7, commandSequenceNumber: 42)])))
    ),
    (
      "REMB, draft-alvestrand-rmcat-remb-03 §2.2",
      [
        0x8F, 0xCE, 0x00, 0x05, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00,
        0x52, 0x45, 0x4D, 0x42,  // "REMB"
        0x01, 0x13, 0xF7, 0xA0,  // 1 SSRC, exponent 4, mantissa 0x3F7A0
        0x00, 0x00, 0x00, 0x07,
      ],
      .feedback(
        RTCPFeedback(
          senderSSRC: 8, mediaSSRC: 0,
          message: .receiverEstimatedBitrate(.init(bitrate: 0x3F7A0 << 4, ssrcs: [7]))))
    ),
    (
      "transport-wide feedback of 9 packets, 3 lost",
      [
        0x8F, 0xCD, 0x00, 0x07,  // FMT 15; RTPFB; 8 words
        0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x07,
        0xFF, 0xFE, 0x00, 0x09,  // base 65534, 9 packets
        0xFF, 0xFF, 0xFF, 0x05,  // reference time -1, feedback 5
        0xD2, 0x18,  // vector of 7: small, lost, large, lost, small, large, lost
        0x20, 0x02,  // run of 2 small
        0x04,  // 1 ms
        0xFF, 0xFC,  // -1 ms
        0x00, 0x01, 0x2C,  // 0, 75 ms
        0xFF, 0x10,  // 63.75 ms, 4 ms
      ],
      .feedback(
        RTCPFeedback(
          senderSSRC: 8, mediaSSRC: 7,
          message: .transportWide(
            RTCPTransportWideFeedback(
              baseSequenceNumber: 65_534, statusCount: 9, referenceTime: -1, feedbackCount: 5,
              arrivals: [
                .init(sequenceNumber: 65_534, delta: 4), .init(sequenceNumber: 0, delta: -4),
                .init(sequenceNumber: 2, delta: 0), .init(sequenceNumber: 3, delta: 300),
                .init(sequenceNumber: 5, delta: 255), .init(sequenceNumber: 6, delta: 16),
              ]))))
    ),
    (
      "XR with RRTR and DLRR, RFC 3611 §4.4 and §4.5",
      [
        0x80, 0xCF, 0x00, 0x08, 0x00, 0x00, 0x00, 0x08,
        0x04, 0x00, 0x00, 0x02, 0x83, 0xAA, 0x7E, 0x80, 0x80, 0x00, 0x00, 0x00,
        0x05, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x07, 0x7E, 0x80, 0x80, 0x00, 0x00, 0x01, 0x00, 0x00,
      ],
      .extendedReport(
        RTCPExtendedReport(
          ssrc: 8,
          blocks: [
            .receiverReferenceTime(NTPTimestamp(rawValue: 0x83AA_7E80_8000_0000)),
            .delaySinceLastReceiverReport([.init(ssrc: 7, lastReceiverReport: 0x7E80_8000, delay: 65_536)]),
          ]))
    ),
    (
      "an unknown XR block is kept",
      [
        0x80, 0xCF, 0x00, 0x03, 0x00, 0x00, 0x00, 0x08, 0x07, 0x2A, 0x00, 0x01, 0x01, 0x02, 0x03, 0x04,
      ],
      .extendedReport(
        RTCPExtendedReport(
          ssrc: 8, blocks: [.other(type: 7, specific: 42, body: ByteBuffer(bytes: [1, 2, 3, 4]))]))
    ),
  ]

  private static let report = RTCPPacket.receiverReport(RTCPReceiverReport(ssrc: 8))

  private static func serialize(_ packets: [RTCPPacket]) -> [UInt8] {
    var buffer = ByteBuffer()
    RTCPCompoundPacket(packets).serialize(into: &buffer)
    return Array(buffer.readableBytesView)
  }

  private static func parse(_ bytes: [UInt8]) throws -> [RTCPPacket] {
    try RTCPCompoundPacket(parsing: ByteBuffer(bytes: bytes), allowsReducedSize: true).packets
  }

  @Test(arguments: golden)
  func `parsing and serializing are inverse`(name: String, bytes: [UInt8], packet: RTCPPacket) throws {
    #expect(try Self.parse(bytes) == [packet])
    #expect(Self.serialize([packet]) == bytes)
    #expect(try Self.parse(Self.serialize([Self.report, packet])) == [Self.report, packet])
  }

  @Test(arguments: golden)
  func `every prefix throws, and each length that is not its own`(name: String, bytes: [UInt8], packet: RTCPPacket) {
    for length in 0..<bytes.count {
      #expect(throws: ParsingError.self) { try Self.parse(Array(bytes.prefix(length))) }
    }
    // The header says one word less, and the words are removed; some formats are valid with fewer entries.
    var shorter = Array(bytes.dropLast(4))
    shorter[3] -= 1
    let parsed = try? Self.parse(shorter)
    #expect(parsed != [packet])
  }

  @Test func `without a report first only reduced size is accepted, RFC 5506`() {
    let bytes = Self.golden[1].1
    #expect(throws: ParsingError(.invalid, field: "PT", offset: 1)) {
      try RTCPCompoundPacket(parsing: ByteBuffer(bytes: bytes))
    }
  }

  @Test func `lost packets of a NACK are expanded and packed over a wrap`() {
    #expect(Array(RTCPNackPair(packetID: 0xFFFF, followingMask: 0x8001)) == [0xFFFF, 0, 15])
    let lost: [UInt16] = [65_530, 65_535, 0, 10, 11, 500]
    let pairs = RTCPNackPair.pairs(lost)
    #expect(Array(pairs.joined()) == lost)
    #expect(pairs.count == 3)
  }

  @Test func `a bitrate keeps its first 18 bits`() throws {
    for bitrate in [0, 1, 0x3_FFFF, 0x4_0000, 2_300_000, 10_000_000_001, UInt64.max] {
      let packet = RTCPPacket.feedback(
        RTCPFeedback(
          senderSSRC: 8, mediaSSRC: 0, message: .receiverEstimatedBitrate(.init(bitrate: bitrate, ssrcs: []))))
      guard case .feedback(let parsed) = try Self.parse(Self.serialize([packet]))[0],
        case .receiverEstimatedBitrate(let estimate) = parsed.message
      else {
        Issue.record("another message")
        return
      }
      #expect(estimate.bitrate <= bitrate && estimate.bitrate >= bitrate - bitrate / 0x2_0000)
    }
  }

  @Test(
    arguments: [
      ("PLI with a body", [0x81, 0xCE, 0, 3, 0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0, 0]),
      ("REMB beyond 64 bits", [0x8F, 0xCE, 0, 4, 0, 0, 0, 8, 0, 0, 0, 0, 0x52, 0x45, 0x4D, 0x42, 0, 0xFF, 0xFF, 0xFF]),
      ("REMB without its SSRC", [0x8F, 0xCE, 0, 4, 0, 0, 0, 8, 0, 0, 0, 0, 0x52, 0x45, 0x4D, 0x42, 1, 0, 0, 1]),
      ("half a FIR", [0x84, 0xCE, 0, 3, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7]),
      ("RRTR of one word", [0x80, 0xCF, 0, 3, 0, 0, 0, 8, 4, 0, 0, 1, 0, 0, 0, 0]),
      ("DLRR of one word", [0x80, 0xCF, 0, 3, 0, 0, 0, 8, 5, 0, 0, 1, 0, 0, 0, 0]),
      ("XR block past the end", [0x80, 0xCF, 0, 2, 0, 0, 0, 8, 9, 0, 0, 1]),
      // 65,535 packets that arrived, in 9 chunks: nothing is made of them without their deltas.
      (
        "transport-wide runs without deltas",
        [0x8F, 0xCD, 0, 9, 0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0]
          + [UInt8](repeating: 0x3F, count: 20)
      ),
      (
        "transport-wide run of length 0",
        [0x8F, 0xCD, 0, 5, 0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
      ),
      (
        "transport-wide symbol 3", [0x8F, 0xCD, 0, 5, 0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0x60, 1, 0, 0]
      ),
    ] as [(String, [UInt8])])
  func `malformed messages are refused`(name: String, bytes: [UInt8]) {
    #expect(throws: ParsingError.self, "\(name)") { try Self.parse(bytes) }
  }

  @Test func `65,535 lost packets take no memory`() throws {
    let runs = [[UInt8]](repeating: [0x1F, 0xFF], count: 8).joined()
    let bytes: [UInt8] =
      [0x8F, 0xCD, 0, 9, 0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0] + Array(runs) + [0x00, 0x07, 0, 0]
    guard case .feedback(let parsed) = try Self.parse(bytes)[0], case .transportWide(let feedback) = parsed.message
    else {
      Issue.record("another message")
      return
    }
    #expect(feedback.statusCount == 65_535 && feedback.arrivals.isEmpty)
  }
}
