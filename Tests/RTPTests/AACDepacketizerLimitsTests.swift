import Media
import NIOCore
import RTP
import Testing

@Suite("AAC depacketizer with other senders, RFC 3640 §3.2")
struct AACDepacketizerLimitsTests {
  private static func depacketizer() throws -> AACDepacketizer {
    try AACDepacketizer(
      parameters: SDPFormatParameters([
        .init("sizelength", "13"), .init("indexlength", "3"), .init("indexdeltalength", "3"),
      ]))
  }

  private static func packet(
    _ number: UInt16, _ timestamp: UInt32, _ payload: [UInt8], marker: Bool = true
  ) -> RTPPacket {
    RTPPacket(
      header: RTPHeader(marker: marker, payloadType: 97, sequenceNumber: number, timestamp: timestamp, ssrc: 1),
      payload: ByteBuffer(bytes: payload))
  }

  /// One AU header of 16 bits: 13 of size, 3 of index.
  private static func header(_ size: UInt16) -> [UInt8] {
    [0x00, 0x10, UInt8(size >> 5), UInt8(truncatingIfNeeded: size << 3)]
  }

  @Test func `timestamps of the frames of a packet wrap at 32 bits`() throws {
    var depacketizer = try Self.depacketizer()
    let payload: [UInt8] = [0x00, 0x30, 0x00, 0x08, 0x00, 0x08, 0x00, 0x08, 1, 2, 3]
    let outputs = try depacketizer.depacketize(Self.packet(1, 0xFFFF_FE00, payload))
    #expect(outputs.map(\.timestamp) == [0xFFFF_FE00, 0x200, 0x600])
    #expect(outputs.map(\.payload) == [1, 2, 3].map { ByteBuffer(bytes: [$0]) })
  }

  @Test func `a configuration of 960 samples moves its frames by 960`() throws {
    var depacketizer = try AACDepacketizer(
      parameters: SDPFormatParameters([
        .init("sizelength", "13"), .init("indexlength", "3"), .init("indexdeltalength", "3"),
      ]), samplesPerFrame: 960)
    let outputs = try depacketizer.depacketize(Self.packet(1, 100, [0x00, 0x20, 0x00, 0x08, 0x00, 0x08, 1, 2]))
    #expect(outputs.map(\.timestamp) == [100, 1060])
  }

  @Test func `an empty frame in a packet is skipped, and the following frames keep their times`() throws {
    var depacketizer = try Self.depacketizer()
    let payload: [UInt8] = [0x00, 0x30, 0x00, 0x08, 0x00, 0x00, 0x00, 0x10, 1, 2, 3]
    let outputs = try depacketizer.depacketize(Self.packet(1, 0, payload))
    #expect(outputs.map(\.timestamp) == [0, 2048])
    #expect(outputs.map(\.payload) == [ByteBuffer(bytes: [1]), ByteBuffer(bytes: [2, 3])])
  }

  @Test func `a packet with padding only is neither a loss nor a frame`() throws {
    var depacketizer = try Self.depacketizer()
    #expect(try depacketizer.depacketize(Self.packet(1, 0, [])).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(2, 0, Self.header(1) + [7])).count == 1)
    #expect(depacketizer.lostPacketCount == 0 && depacketizer.droppedPacketCount == 0)
  }

  @Test func `lost packets are counted, late ones are dropped`() throws {
    var depacketizer = try Self.depacketizer()
    for number: UInt16 in [0xFFFE, 2, 1, 3] {
      _ = try depacketizer.depacketize(Self.packet(number, 0, Self.header(1) + [7]))
    }
    #expect(depacketizer.lostPacketCount == 3)
    #expect(depacketizer.droppedPacketCount == 1)
  }

  @Test func `fragments of another frame replace those that were not completed`() throws {
    var depacketizer = try Self.depacketizer()
    #expect(try depacketizer.depacketize(Self.packet(1, 0, Self.header(4) + [1, 2], marker: false)).isEmpty)
    // The same size at another time, and the same time with another size, are other frames.
    #expect(try depacketizer.depacketize(Self.packet(2, 1024, Self.header(4) + [3, 4], marker: false)).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(3, 1024, Self.header(5) + [5, 6, 7], marker: false)).isEmpty)
    #expect(depacketizer.droppedPacketCount == 2)
    let outputs = try depacketizer.depacketize(Self.packet(4, 1024, Self.header(5) + [8, 9]))
    #expect(outputs == [.init(payload: ByteBuffer(bytes: [5, 6, 7, 8, 9]), timestamp: 1024)])
    #expect(depacketizer.droppedPacketCount == 2 && depacketizer.lostPacketCount == 0)
  }

  @Test func `a complete frame ends a fragmented one that lacks its end`() throws {
    var depacketizer = try Self.depacketizer()
    #expect(try depacketizer.depacketize(Self.packet(1, 0, Self.header(9) + [1, 2], marker: false)).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(2, 1024, Self.header(2) + [3, 4])).map(\.timestamp) == [1024])
    #expect(depacketizer.droppedPacketCount == 1)
  }

  @Test func `fragments that are longer than their frame are refused`() throws {
    var depacketizer = try Self.depacketizer()
    _ = try depacketizer.depacketize(Self.packet(1, 0, Self.header(4) + [1, 2, 3], marker: false))
    #expect(throws: ParsingError(.invalid, field: "AU-size", offset: 2)) {
      try depacketizer.depacketize(Self.packet(2, 0, Self.header(4) + [4, 5]))
    }
    #expect(try depacketizer.depacketize(Self.packet(3, 1024, Self.header(1) + [6])).count == 1)
  }

  @Test func `a malformed packet ends the fragmented frame before it`() throws {
    var depacketizer = try Self.depacketizer()
    _ = try depacketizer.depacketize(Self.packet(1, 0, Self.header(4) + [1, 2], marker: false))
    #expect(throws: ParsingError.self) { try depacketizer.depacketize(Self.packet(2, 0, [0xFF])) }
    // The malformed packet, and the fragment before it.
    #expect(depacketizer.droppedPacketCount == 2)
    #expect(try depacketizer.depacketize(Self.packet(3, 0, Self.header(4) + [3, 4], marker: false)).isEmpty)
  }

  @Test(arguments: ["0", "17", "-1", "99999999999999999999"])
  func `a sizelength that no header has is refused`(length: String) {
    let error = #expect(throws: ParsingError.self) {
      try AACDepacketizer(parameters: SDPFormatParameters([.init("sizelength", length)]))
    }
    #expect(error?.field == "sizelength" && (error?.code == .unsupported) == (length.count < 10))
  }

  @Test func `every prefix of a packet of two frames throws or contains complete frames`() throws {
    let payload: [UInt8] = [0x00, 0x20, 0x00, 0x18, 0x00, 0x10, 1, 2, 3, 4, 5]
    for length in 1..<payload.count {
      var depacketizer = try Self.depacketizer()
      let packet = Self.packet(1, 0, Array(payload.prefix(length)))
      #expect(throws: ParsingError.self, "\(length) bytes") { try depacketizer.depacketize(packet) }
      #expect(depacketizer.droppedPacketCount == 1)
    }
  }
}
