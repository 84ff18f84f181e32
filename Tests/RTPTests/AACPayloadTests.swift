import Media
import NIOCore
import RTP
import Testing

@Suite("AAC payload, RFC 3640 AAC-hbr")
struct AACPayloadTests {
  @Test func `a packet has one frame, with a header of its size`() throws {
    var packetizer = Self.packetizer()
    let batches = try packetizer.packetize(Self.sample([0x21, 0x10, 0x05]))
    #expect(
      batches.map { Array($0.datagrams().readableBytesView) } == [
        [
          0x80, 0xE1, 0x00, 0x0A,  // V=2; M, PT 97; sequence number
          0x00, 0x00, 0x00, 0x64, 0x00, 0x00, 0x00, 0x09,  // timestamp, SSRC
          0x00, 0x10, 0x00, 0x18,  // 16 bits of headers; size 3, index 0
          0x21, 0x10, 0x05,
        ]
      ])
  }

  @Test func `a frame that does not fit is fragmented, each with the whole size and the marker on the last`() throws {
    var packetizer = Self.packetizer(maximumPayloadLength: 64)
    var depacketizer = try Self.depacketizer()
    let frame = (0..<200).map { UInt8($0) }
    let packets = try Self.packets(packetizer.packetize(Self.sample(frame)))
    #expect(packets.map(\.payload.readableBytes) == [54, 54, 54, 54])
    #expect(packets.allSatisfy { $0.payload.getInteger(at: $0.payload.readerIndex, as: UInt32.self) == 0x0010_0640 })
    #expect(packets.map(\.header.marker) == [false, false, false, true])
    #expect(
      try Self.depacketize(packets, &depacketizer)
        == [AACDepacketizer.Output(payload: ByteBuffer(bytes: frame), timestamp: 100)])
  }

  @Test func `several frames share a packet and are depacketized with their timestamps`() throws {
    var packetizer = Self.packetizer(framesPerPacket: 3)
    var depacketizer = try Self.depacketizer()
    var batches: [RTPPacketBatch] = []
    for index in 0..<4 {
      batches += try packetizer.packetize(Self.sample([UInt8](repeating: 7, count: 10 + index), index: index))
    }
    #expect(batches.map(\.packetCount) == [1])
    batches += packetizer.flush()
    let outputs = try Self.depacketize(Self.packets(batches), &depacketizer)
    #expect(outputs.map(\.payload.readableBytes) == [10, 11, 12, 13])
    #expect(outputs.map(\.timestamp) == [100, 1124, 2148, 3172])
  }

  @Test func `a gap in time and a full packet flush the pending frames`() throws {
    var packetizer = Self.packetizer(framesPerPacket: 8, maximumPayloadLength: 64)
    #expect(try packetizer.packetize(Self.sample([1], index: 0)).isEmpty)
    let gap = try packetizer.packetize(Self.sample([2], index: 2))
    #expect(gap.map(\.timestamp) == [100])
    let full = try packetizer.packetize(Self.sample([UInt8](repeating: 3, count: 58), index: 3))
    #expect(full.map(\.timestamp) == [100 + 2048])
    let long = try packetizer.packetize(Self.sample([UInt8](repeating: 3, count: 61), index: 4))
    #expect(long.map(\.packetCount) == [1, 2])
    #expect(packetizer.flush().isEmpty)
  }

  @Test func `a frame beyond 13 bits of size is refused`() throws {
    var packetizer = Self.packetizer()
    #expect(try packetizer.packetize(Self.sample([UInt8](repeating: 0, count: 8191))).count == 1)
    #expect(throws: ParsingError(.tooLarge, field: "AU-size")) {
      try packetizer.packetize(Self.sample([UInt8](repeating: 0, count: 8192)))
    }
  }

  @Test func `a lost fragment drops its frame only`() throws {
    for lost in 0..<4 {
      var packetizer = Self.packetizer(maximumPayloadLength: 64)
      var depacketizer = try Self.depacketizer()
      var packets = try Self.packets(packetizer.packetize(Self.sample([UInt8](repeating: 1, count: 200))))
      packets.remove(at: lost)
      packets += try Self.packets(packetizer.packetize(Self.sample([9, 9], index: 1)))
      let outputs = try Self.depacketize(packets, &depacketizer)
      #expect(outputs == [AACDepacketizer.Output(payload: ByteBuffer(bytes: [9, 9]), timestamp: 1124)])
      #expect(depacketizer.droppedPacketCount == 3)
    }
  }

  @Test(
    arguments: [
      ([0x00], ParsingError(.truncated, field: "AU-headers-length")),
      ([0x00, 0x10, 0x00], ParsingError(.truncated, field: "AU-headers-length")),
      ([0xFF, 0xFF, 0x00, 0x18, 1], ParsingError(.truncated, field: "AU-headers-length")),
      ([0x00, 0x00, 0x01], ParsingError(.invalid, field: "AU-headers-length")),
      ([0x00, 0x09, 0x00, 0x08], ParsingError(.truncated, field: "AU-Index", offset: 2)),
      ([0x00, 0x10, 0x00, 0x19, 1, 2, 3], ParsingError(.unsupported, field: "AU-Index", offset: 2)),
      ([0x00, 0x20, 0x00, 0x08, 0x00, 0x10, 1, 2], ParsingError(.truncated, field: "access unit", offset: 7)),
    ] as [([UInt8], ParsingError)])
  func `a malformed packet throws and is counted`(payload: [UInt8], error: ParsingError) throws {
    var depacketizer = try Self.depacketizer()
    #expect(throws: error) { try depacketizer.depacketize(Self.packet(payload)) }
    #expect(depacketizer.droppedPacketCount == 1)
  }

  @Test func `other header lengths are read from the parameters, unknown header fields are refused`() throws {
    // AAC-lbr: 6 bits of size, 2 of index.
    var depacketizer = try AACDepacketizer(
      parameters: SDPFormatParameters([
        .init("sizeLength", "6"), .init("indexLength", "2"), .init("indexDeltaLength", "2"),
      ]))
    let outputs = try depacketizer.depacketize(Self.packet([0x00, 0x10, 0x04, 0x08, 5, 6, 7]))
    #expect(outputs.map(\.payload) == [ByteBuffer(bytes: [5]), ByteBuffer(bytes: [6, 7])])
    #expect(throws: ParsingError(.unsupported, field: "sizelength")) {
      try AACDepacketizer(parameters: SDPFormatParameters([]))
    }
    #expect(throws: ParsingError(.unsupported, field: "ctsdeltalength")) {
      try AACDepacketizer(parameters: SDPFormatParameters([.init("sizelength", "13"), .init("ctsdeltalength", "3")]))
    }
    #expect(throws: ParsingError(.invalid, field: "indexlength")) {
      try AACDepacketizer(parameters: SDPFormatParameters([.init("sizelength", "13"), .init("indexlength", "x")]))
    }
  }

  private static func packetizer(
    framesPerPacket: Int = 1, maximumPayloadLength: Int = RTPPayloadSize.default
  ) -> AACPacketizer {
    AACPacketizer(
      description: AACDescription(
        audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2)),
      sequence: RTPSenderState(
        ssrc: 9, payloadType: 97, clockRate: 48_000, timestampOffset: 100, firstSequenceNumber: 10),
      framesPerPacket: framesPerPacket, maximumPayloadLength: maximumPayloadLength)
  }

  private static func depacketizer() throws -> AACDepacketizer {
    try AACDepacketizer(
      parameters: SDPFormatParameters([
        .init("sizelength", "13"), .init("indexlength", "3"), .init("indexdeltalength", "3"),
      ]))
  }

  private static func sample(_ frame: [UInt8], index: Int = 0) -> EncodedSample {
    EncodedSample(
      kind: .audio, payload: ByteBuffer(bytes: frame),
      presentationTime: MediaTime(ticks: Int64(index) * 1024, timescale: 48_000) + MediaDuration(nanoseconds: 1),
      duration: .ticks(1024, timescale: 48_000), isKeyframe: true)
  }

  private static func packets(_ batches: [RTPPacketBatch]) throws -> [RTPPacket] {
    try batches.flatMap { try H264PacketizerTests.packets($0) }
  }

  private static func depacketize(
    _ packets: [RTPPacket], _ depacketizer: inout AACDepacketizer
  ) throws -> [AACDepacketizer.Output] {
    var outputs: [AACDepacketizer.Output] = []
    for packet in packets { outputs += try depacketizer.depacketize(packet) }
    return outputs
  }

  private static func packet(_ payload: [UInt8]) -> RTPPacket {
    RTPPacket(
      header: RTPHeader(marker: true, payloadType: 97, sequenceNumber: 1, timestamp: 0, ssrc: 9),
      payload: ByteBuffer(bytes: payload))
  }
}
