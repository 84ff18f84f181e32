import Bitstreams
import Media
import NIOCore
import RTP
import Testing

@Suite("H.264 packetizer, RFC 6184")
struct H264PacketizerTests {
  @Test func `a NAL unit that fits is one packet, with the marker`() throws {
    var packetizer = Self.packetizer()
    let batch = try packetizer.packetize(Self.sample([[0x41, 1, 2]]))
    #expect(
      Array(batch.datagrams().readableBytesView) == [
        0x80, 0xE0, 0xFF, 0xFF,  // V=2; M, PT 96; sequence number
        0x00, 0x00, 0x03, 0xE8,  // offset 1000 and no ticks
        0x00, 0x00, 0x00, 0x07,  // SSRC
        0x41, 0x01, 0x02,
      ])
    #expect(batch.packetLengths == [15])
    #expect(batch.firstSequenceNumber == 0xFFFF)
    #expect(!batch.isKeyframe)
  }

  @Test func `a keyframe starts with its parameter sets in one STAP-A, once`() throws {
    var packetizer = Self.packetizer()
    // Two slices; the sample wrongly holds parameter sets between them, and a delimiter.
    let batch = try packetizer.packetize(
      Self.sample([[0x09, 0x10], [0x06, 5], [0x65, 1], [0x67, 9], [0x68, 9], [0x65, 2]], isKeyframe: true))
    let packets = try Self.packets(batch)
    #expect(
      packets.map { Array($0.payload.readableBytesView) } == [
        [0x78, 0, 4, 0x67, 0x42, 0xC0, 0x1F, 0, 2, 0x68, 0xCB], [0x06, 5], [0x65, 1], [0x65, 2],
      ])
    #expect(packets.map(\.header.marker) == [false, false, false, true])
    #expect(packets.map(\.header.sequenceNumber) == [0xFFFF, 0, 1, 2])
    #expect(batch.isKeyframe)
  }

  @Test func `a NAL unit that is too long becomes FU-A fragments of equal length, except the last`() throws {
    var packetizer = Self.packetizer(maximumPayloadLength: 100)
    // 1 + 295 bytes: three fragments of 98 would leave a fourth of one byte; four of 74 leave 73.
    let content = (0..<295).map { UInt8(truncatingIfNeeded: $0) }
    let packets = try Self.packets(packetizer.packetize(Self.sample([[0x61] + content])))
    #expect(packets.map(\.payload.readableBytes) == [76, 76, 76, 75])
    #expect(
      packets.map { $0.payload.getInteger(at: $0.payload.readerIndex) } == Array(repeating: UInt8(0x7C), count: 4))
    #expect(
      packets.map { $0.payload.getInteger(at: $0.payload.readerIndex + 1, as: UInt8.self) } == [0x81, 0x01, 0x01, 0x41])
    #expect(packets.flatMap { $0.payload.readableBytesView.dropFirst(2) } == content)
    #expect(packets.map(\.header.marker) == [false, false, false, true])
  }

  @Test func `in mode 0 each NAL unit is a packet, and one that does not fit is an error that changes nothing`() throws
  {
    var packetizer = Self.packetizer(maximumPayloadLength: 100, mode: .singleNALUnit)
    let batch = try packetizer.packetize(Self.sample([[0x65, 1], [0x65, 2]], isKeyframe: true))
    let packets = try Self.packets(batch)
    #expect(
      packets.map { Array($0.payload.readableBytesView) } == [
        [0x67, 0x42, 0xC0, 0x1F], [0x68, 0xCB], [0x65, 1], [0x65, 2],
      ])
    #expect(packets.map(\.header.marker) == [false, false, false, true])
    let fitting = try packetizer.packetize(Self.sample([[0x41] + [UInt8](repeating: 3, count: 99)]))
    #expect(fitting.packetLengths == [112])
    let before = packetizer.sequence
    #expect(throws: ParsingError(.tooLarge, field: "NAL unit")) {
      try packetizer.packetize(Self.sample([[0x41, 1], [0x41] + [UInt8](repeating: 3, count: 100)]))
    }
    #expect(packetizer.sequence == before)
  }

  @Test(arguments: [
    (100, [100]), (101, [52, 52]), (197, [100, 100]), (198, [68, 68, 67]),
    (10_000, Array(repeating: 100, count: 102) + [5]),
  ])
  func `the number of fragments is minimal and none exceeds the maximum length`(length: Int, lengths: [Int]) throws {
    var packetizer = Self.packetizer(maximumPayloadLength: 100)
    let packets = try Self.packets(
      packetizer.packetize(Self.sample([[0x41] + [UInt8](repeating: 3, count: length - 1)])))
    #expect(packets.map(\.payload.readableBytes) == lengths)
  }

  @Test func `the default payload fills an Ethernet frame over IPv6`() throws {
    var packetizer = H264Packetizer(description: Self.description, sequence: Self.sequence())
    let batch = try packetizer.packetize(Self.sample([[0x41] + [UInt8](repeating: 3, count: 1439)]))
    #expect(batch.packetLengths == [1500 - 40 - 8])
  }

  @Test func `interleaved frames contain the same packets behind dollar sign, channel and length`() throws {
    var packetizer = Self.packetizer(maximumPayloadLength: 300)
    let batch = try packetizer.packetize(
      Self.sample([[0x65] + [UInt8](repeating: 1, count: 700), [0x65, 2]], isKeyframe: true))
    for channel: UInt8 in [0, 2, 255] {
      var frames = batch.interleaved(channel: channel)
      #expect(frames.readableBytes == batch.byteCount + 4 * batch.packetCount)
      var packets: [ByteBuffer] = []
      while let magic = frames.readInteger(as: UInt8.self) {
        #expect(magic == 0x24)
        #expect(frames.readInteger(as: UInt8.self) == channel)
        let packet = frames.readLengthPrefixedSlice(as: UInt16.self)
        packets.append(try #require(packet))
      }
      #expect(packets.map(\.readableBytes) == batch.packetLengths)
      #expect(Array(packets.map { Array($0.readableBytesView) }.joined()) == Array(batch.datagrams().readableBytesView))
    }
  }

  @Test func `runs for segmentation offload cover all datagrams`() throws {
    var packetizer = Self.packetizer(maximumPayloadLength: 100)
    let batch = try packetizer.packetize(
      Self.sample([[0x06, 1], [0x41] + [UInt8](repeating: 1, count: 295), [0x41] + [UInt8](repeating: 1, count: 196)]))
    let lengths = [14, 88, 88, 88, 87, 112, 112]
    #expect(batch.packetLengths == lengths)
    #expect(
      batch.datagramRuns() == [
        .init(offset: 0, length: 14, segmentLength: 14, packetCount: 1),
        .init(offset: 14, length: 351, segmentLength: 88, packetCount: 4),
        .init(offset: 365, length: 224, segmentLength: 112, packetCount: 2),
      ])
    #expect(batch.datagramRuns(maximumPackets: 3).map(\.packetCount) == [1, 3, 1, 2])
  }

  @Test func `a run never exceeds a datagram's length`() throws {
    var packetizer = Self.packetizer(maximumPayloadLength: 30_000)
    let batch = try packetizer.packetize(Self.sample([[0x41] + [UInt8](repeating: 1, count: 90_000)]))
    #expect(batch.datagramRuns().allSatisfy { $0.length <= 65_507 })
    #expect(batch.datagramRuns().reduce(0) { $0 + $1.packetCount } == batch.packetCount)
  }

  @Test func `timestamps are exact after a year and wrap`() throws {
    var packetizer = Self.packetizer()
    let year: Int64 = 365 * 86_400
    let batch = try packetizer.packetize(
      Self.sample([[0x41]], at: MediaTime(nanoseconds: year * 1_000_000_000 + 33_333_333)))
    #expect(batch.timestamp == 1000 &+ UInt32(truncatingIfNeeded: year * 90_000 + 2999))
  }

  @Test func `counts of sender reports include payloads only`() throws {
    var packetizer = Self.packetizer()
    _ = try packetizer.packetize(Self.sample([[0x41, 1, 2], [0x41, 3]]))
    let report = packetizer.sequence.senderReport(at: MediaTime(nanoseconds: 1_000_000_000), unixNanoseconds: 0)
    #expect(report.packetCount == 2)
    #expect(report.octetCount == 5)
    #expect(report.rtpTimestamp == 91_000)
    #expect(report.ntpTimestamp.rawValue == 2_208_988_800 << 32)
  }

  @Test func `a sample with a NAL unit length past its end uses no sequence number`() {
    var packetizer = Self.packetizer()
    var sample = Self.sample([[0x41, 1]])
    sample.payload.writeBytes([0, 0, 0, 9, 1])
    #expect(throws: ParsingError(.truncated, field: "NALUnitLength", offset: 6)) { try packetizer.packetize(sample) }
    #expect(packetizer.sequence.nextSequenceNumber == 0xFFFF)
  }

  @Test func `a sample without NAL units results in an empty batch`() throws {
    var packetizer = Self.packetizer()
    let batch = try packetizer.packetize(Self.sample([[0x09, 0x10]], isKeyframe: true))
    #expect(batch.isEmpty)
    #expect(batch.interleaved(channel: 0).readableBytes == 0)
    #expect(batch.datagrams().readableBytes == 0)
    #expect(batch.datagramRuns() == [])
  }

  @Test func `parameter sets that do not fit one aggregation packet are sent separately`() throws {
    var packetizer = Self.packetizer(maximumPayloadLength: 64)
    packetizer.description.sequenceParameterSet = [0x67] + [UInt8](repeating: 7, count: 80)
    let packets = try Self.packets(packetizer.packetize(Self.sample([[0x65, 1]], isKeyframe: true)))
    #expect(packets.map(\.payload.readableBytes) == [42, 42, 2, 2])
    #expect(packets[2].payload == ByteBuffer(bytes: [0x68, 0xCB]))
  }

  static let description = H264Description(
    sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1F], pictureParameterSet: [0x68, 0xCB], width: 1280, height: 720,
    frameRate: FrameRate(30))

  static func sequence() -> RTPSenderState {
    RTPSenderState(ssrc: 7, payloadType: 96, clockRate: 90_000, timestampOffset: 1000, firstSequenceNumber: 0xFFFF)
  }

  static func packetizer(
    maximumPayloadLength: Int = 1000, mode: H264PacketizationMode = .nonInterleaved
  ) -> H264Packetizer {
    H264Packetizer(
      description: Self.description, sequence: Self.sequence(), maximumPayloadLength: maximumPayloadLength, mode: mode)
  }

  static func sample(_ units: [[UInt8]], at time: MediaTime = .zero, isKeyframe: Bool = false) -> EncodedSample {
    var payload = ByteBuffer()
    for unit in units {
      payload.writeInteger(UInt32(unit.count))
      payload.writeBytes(unit)
    }
    return EncodedSample(
      kind: .video, payload: payload, presentationTime: time, duration: .milliseconds(33), isKeyframe: isKeyframe)
  }

  static func packets(_ batch: RTPPacketBatch) throws -> [RTPPacket] {
    var datagrams = batch.datagrams()
    return try batch.packetLengths.map { length in
      let datagram = datagrams.readSlice(length: length)
      return try RTPPacket(parsing: try #require(datagram))
    }
  }
}
