import Media
import NIOCore
import RTP
import Testing

@Suite("RTP header extensions, RFC 8285")
struct RTPExtensionElementsTests {
  /// RFC 8285 §4.2 and §4.3, by their diagrams: profile, data, elements.
  static let golden: [(String, UInt16, [UInt8], [RTPExtensionElements.Element])] = [
    (
      "one-byte headers", 0xBEDE, [0x10, 0xAA, 0x21, 0xBB, 0xCC, 0x00, 0x00, 0x00],
      [.init(id: 1, data: [0xAA]), .init(id: 2, data: [0xBB, 0xCC])]
    ),
    (
      "two-byte headers", 0x1000, [0x01, 0x00, 0x20, 0x01, 0xAA, 0x00, 0x00, 0x00],
      [.init(id: 1, data: []), .init(id: 32, data: [0xAA])]
    ),
  ]

  @Test(arguments: golden)
  func `parsing and serializing are inverse`(
    name: String, profile: UInt16, data: [UInt8], elements: [RTPExtensionElements.Element]
  ) throws {
    let header = RTPHeader.Extension(profile: profile, data: ByteBuffer(bytes: data))
    let parsed = try RTPExtensionElements(parsing: header)
    #expect(parsed.elements == elements)
    #expect(parsed.headerExtension == header)
    #expect(parsed[elements[1].id] == elements[1].data && parsed[99] == nil)
  }

  @Test func `padding is skipped, identifier 15 ends, other profiles have no elements`() throws {
    func parse(_ profile: UInt16, _ data: [UInt8]) throws -> [UInt8] {
      try RTPExtensionElements(parsing: .init(profile: profile, data: ByteBuffer(bytes: data))).elements.map(\.id)
    }
    #expect(try parse(0xBEDE, [0, 0x10, 1, 0, 0x20, 2, 0, 0]) == [1, 2])
    #expect(try parse(0xBEDE, [0x10, 1, 0xF0, 0x20]) == [1])
    #expect(try parse(0xBEDE, [0x01, 9, 9, 0x10, 1, 0, 0, 0]) == [1])
    #expect(try parse(0x100F, [1, 1, 7, 0]) == [1])
    #expect(try parse(0x1234, [1, 2, 3, 4]) == [])
  }

  @Test(
    arguments: [
      (0xBEDE, [0x13, 1, 2, 3]), (0xBEDE, [0, 0, 0, 0x10]), (0x1000, [1, 3, 1, 2]), (0x1000, [0, 0, 0, 1]),
    ]
      as [(UInt16, [UInt8])])
  func `an element past the end is refused`(profile: UInt16, data: [UInt8]) {
    #expect(throws: ParsingError(.truncated, field: "header extension element")) {
      try RTPExtensionElements(parsing: .init(profile: profile, data: ByteBuffer(bytes: data)))
    }
  }

  @Test func `values survive a round trip`() {
    for nanoseconds: Int64 in [0, 1_000_000_000, 63_999_999_999, 64_000_000_000, 1_700_000_000_123_456_789] {
      let time = RTPAbsoluteSendTime(nanoseconds: nanoseconds)
      #expect(RTPAbsoluteSendTime(parsing: time.data) == time)
    }
    #expect(RTPAbsoluteSendTime(nanoseconds: 1_500_000_000).rawValue == 3 << 17)
    #expect(RTPAbsoluteSendTime(nanoseconds: 64_000_000_000).rawValue == 0)
    #expect(RTPPlayoutDelay(milliseconds: 0...100).data == [0x00, 0x00, 0x0A])
    #expect(RTPPlayoutDelay(milliseconds: 400...100_000).data == [0x02, 0x8F, 0xFF])
    #expect(RTPPlayoutDelay(parsing: [0x02, 0x8F, 0xFF]) == RTPPlayoutDelay(milliseconds: 400...40_950))
    #expect(RTPPlayoutDelay(parsing: [0x02, 0x80, 0x01]) == nil)
    #expect(RTPTransportWideSequenceNumber(parsing: [0x12, 0x34])?.rawValue == 0x1234)
    #expect(RTPTransportWideSequenceNumber(rawValue: 0x1234).data == [0x12, 0x34])
    for data in [[], [1], [1, 2, 3, 4]] as [[UInt8]] {
      #expect(RTPAbsoluteSendTime(parsing: data) == nil && RTPPlayoutDelay(parsing: data) == nil)
      #expect(RTPTransportWideSequenceNumber(parsing: data) == nil)
    }
  }
}

@Suite("RTP retransmission, RFC 4588")
struct RTPRetransmissionTests {
  @Test func `a retransmission carries the original with its number`() throws {
    var stream = RTPRetransmission(ssrc: 9, payloadType: 97, firstSequenceNumber: 65_535)
    var original = RTPPacket(
      header: RTPHeader(marker: true, payloadType: 96, sequenceNumber: 0x1234, timestamp: 5, ssrc: 7),
      payload: ByteBuffer(bytes: [1, 2, 3]))
    original.header.headerExtension = RTPExtensionElements([.init(id: 1, data: [1])]).headerExtension
    let first = stream.packet(for: original)
    var bytes = ByteBuffer()
    first.serialize(into: &bytes)
    #expect(
      Array(bytes.readableBytesView) == [
        0x90, 0xE1, 0xFF, 0xFF, 0, 0, 0, 5, 0, 0, 0, 9,  // marker, PT 97, own number, timestamp, own SSRC
        0xBE, 0xDE, 0, 1, 0x10, 1, 0, 0,
        0x12, 0x34, 1, 2, 3,  // OSN, payload
      ])
    #expect(try RTPRetransmission.original(of: first, ssrc: 7, payloadType: 96) == original)
    #expect(stream.packet(for: original).header.sequenceNumber == 0)
  }

  @Test func `padding without an original is no retransmission`() {
    let header = RTPHeader(marker: false, payloadType: 97, sequenceNumber: 1, timestamp: 5, ssrc: 9)
    #expect(throws: ParsingError(.truncated, field: "OSN")) {
      try RTPRetransmission.original(of: RTPPacket(header: header, payload: ByteBuffer()), ssrc: 7, payloadType: 96)
    }
  }
}
