import Bitstreams
import Media
import NIOCore
import RTP
import Testing

@Suite("H.264 depacketizer, RFC 6184")
struct H264DepacketizerTests {
  static let keyframe: [[UInt8]] = [[0x06, 5], [0x65, 0x88] + [UInt8](repeating: 1, count: 900), [0x65, 0x41, 7]]
  static let delta: [[UInt8]] = [[0x41, 0x9A] + [UInt8](repeating: 2, count: 500)]

  @Test(arguments: [64, 65, 100, 503, 1440])
  func `depacketizing returns the packetized access units`(maximumPayloadLength: Int) throws {
    var packetizer = H264PacketizerTests.packetizer(maximumPayloadLength: maximumPayloadLength)
    var depacketizer = H264Depacketizer()
    for index: Int64 in 0..<4 {
      let isKeyframe = index % 2 == 0
      let sample = H264PacketizerTests.sample(
        isKeyframe ? Self.keyframe : Self.delta, at: MediaTime(ticks: index * 3000, timescale: 90_000),
        isKeyframe: isKeyframe)
      let outputs = try Self.depacketize(H264PacketizerTests.packets(packetizer.packetize(sample)), &depacketizer)
      #expect(outputs.map(\.accessUnit.payload) == [sample.payload])
      #expect(outputs.map(\.accessUnit.isKeyframe) == [sample.isKeyframe])
      #expect(outputs.map(\.isComplete) == [true])
      #expect(outputs.map(\.timestamp) == [packetizer.sequence.timestamp(at: sample.presentationTime)])
      let sets = sample.isKeyframe ? [ByteBuffer(bytes: H264PacketizerTests.description.sequenceParameterSet)] : []
      #expect(outputs.first?.accessUnit.sequenceParameterSets == sets)
    }
    #expect(depacketizer.lostPacketCount == 0)
    #expect(depacketizer.droppedPacketCount == 0)
  }

  @Test func `a lost slice packet of a keyframe drops access units until the next keyframe`() throws {
    let packets = try Self.stream()
    let keyframeCount = packets.firstIndex { $0.header.timestamp != packets[0].header.timestamp } ?? 0
    for lost in 2..<keyframeCount {
      var depacketizer = H264Depacketizer()
      var rest = packets
      rest.remove(at: lost)
      let outputs = try Self.depacketize(rest, &depacketizer)
      #expect(outputs.map(\.timestamp) == [packets[packets.count - 1].header.timestamp], "packet \(lost)")
      #expect(depacketizer.lostPacketCount == 1)
      #expect(depacketizer.droppedAccessUnitCount == 2)
    }
  }

  @Test func `without dropping, damaged access units are marked as incomplete`() throws {
    var packets = try Self.stream()
    let second = try #require(packets.firstIndex { $0.header.timestamp != packets[0].header.timestamp })
    packets.remove(at: second + 1)
    var depacketizer = H264Depacketizer(dropsUntilKeyframe: false)
    let outputs = try Self.depacketize(packets, &depacketizer)
    // The damaged access unit was one NAL unit, which cannot be used in part.
    #expect(outputs.map(\.isComplete) == [true, true])
    #expect(depacketizer.lostPacketCount == 1)
  }

  @Test func `a lost marker ends the access unit at the next timestamp, marked as incomplete`() throws {
    var depacketizer = H264Depacketizer(dropsUntilKeyframe: false)
    #expect(try depacketizer.depacketize(Self.packet(1, 0, [0x65, 0x88])).isEmpty)
    let outputs = try depacketizer.depacketize(Self.packet(3, 3000, [0x41, 0x9A], marker: true))
    #expect(outputs.map(\.timestamp) == [0, 3000])
    #expect(outputs.map(\.isComplete) == [false, true])
  }

  @Test func `access units of a sender without markers end at the next timestamp`() throws {
    var depacketizer = H264Depacketizer()
    #expect(try depacketizer.depacketize(Self.packet(1, 0, [0x65, 0x88])).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(2, 3000, [0x41, 0x9A])).map(\.isComplete) == [true])
  }

  @Test func `a frame whose first slice was lost is incomplete`() throws {
    var depacketizer = H264Depacketizer()
    _ = try depacketizer.depacketize(Self.packet(1, 0, [0x65, 0x88], marker: true))
    // first_mb_in_slice is not 0.
    #expect(try depacketizer.depacketize(Self.packet(3, 3000, [0x65, 0x41], marker: true)).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(4, 6000, [0x41, 0x9A], marker: true)).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(5, 9000, [0x65, 0x88], marker: true)).count == 1)
    #expect(depacketizer.droppedAccessUnitCount == 2)
  }

  @Test func `a fragment without an end makes its access unit incomplete, with no packet lost`() throws {
    var depacketizer = H264Depacketizer()
    _ = try depacketizer.depacketize(Self.packet(1, 0, [0x65, 0x88], marker: true))
    _ = try depacketizer.depacketize(Self.packet(2, 3000, [0x5C, 0x81, 0x9A]))
    #expect(try depacketizer.depacketize(Self.packet(3, 3000, [0x41, 0x9A], marker: true)).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(4, 6000, [0x41, 0x9A], marker: true)).isEmpty)
    #expect(depacketizer.droppedAccessUnitCount == 2)
    #expect(depacketizer.lostPacketCount == 0)
  }

  @Test func `frames that depend on a lost frame are dropped`() throws {
    var depacketizer = H264Depacketizer()
    _ = try depacketizer.depacketize(Self.packet(1, 0, [0x65, 0x88], marker: true))
    #expect(try depacketizer.depacketize(Self.packet(3, 6000, [0x41, 0x9A], marker: true)).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(4, 9000, [0x65, 0x88], marker: true)).count == 1)
    #expect(try depacketizer.depacketize(Self.packet(5, 12_000, [0x41, 0x9A], marker: true)).count == 1)
  }

  @Test func `frames that depend on a frame with only a malformed fragment are dropped`() throws {
    var depacketizer = H264Depacketizer()
    _ = try depacketizer.depacketize(Self.packet(1, 0, [0x65, 0x88], marker: true))
    _ = try depacketizer.depacketize(Self.packet(2, 3000, [0x5C, 0x81, 0x9A], marker: true))
    #expect(try depacketizer.depacketize(Self.packet(3, 6000, [0x41, 0x9A], marker: true)).isEmpty)
    #expect(depacketizer.droppedAccessUnitCount == 2)
  }

  @Test func `late and repeated packets are dropped`() throws {
    var depacketizer = H264Depacketizer()
    _ = try depacketizer.depacketize(Self.packet(0xFFFF, 0, [0x65, 0x88], marker: true))
    #expect(try depacketizer.depacketize(Self.packet(0xFFFF, 0, [0x65, 0x88], marker: true)).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(0, 3000, [0x41, 0x9A], marker: true)).count == 1)
    #expect(depacketizer.droppedPacketCount == 1)
    #expect(depacketizer.lostPacketCount == 0)
  }

  @Test func `parameter sets with a timestamp of their own are part of the next access unit`() throws {
    var depacketizer = H264Depacketizer()
    _ = try depacketizer.depacketize(Self.packet(1, 0, [0x67, 1], marker: true))
    _ = try depacketizer.depacketize(Self.packet(2, 1, [0x7C, 0x88, 2]))
    _ = try depacketizer.depacketize(Self.packet(3, 1, [0x7C, 0x48, 3], marker: true))
    let outputs = try depacketizer.depacketize(Self.packet(4, 2, [0x65, 0x88], marker: true))
    #expect(outputs.first?.accessUnit.sequenceParameterSets == [ByteBuffer(bytes: [0x67, 1])])
    #expect(outputs.first?.accessUnit.pictureParameterSets == [ByteBuffer(bytes: [0x68, 2, 3])])
    #expect(outputs.first?.accessUnit.payload == ByteBuffer(bytes: [0, 0, 0, 2, 0x65, 0x88]))
  }

  @Test(
    arguments: [
      ([0x79, 0, 0], ParsingError(.unsupported, field: "NAL unit type")),  // STAP-B
      ([0x7A, 0, 0], ParsingError(.unsupported, field: "NAL unit type")),  // MTAP16
      ([0x7B, 0, 0], ParsingError(.unsupported, field: "NAL unit type")),  // MTAP24
      ([0x7D, 0x85, 0], ParsingError(.unsupported, field: "NAL unit type")),  // FU-B
      ([0x60], ParsingError(.invalid, field: "NAL unit type")),
      ([0x7F], ParsingError(.invalid, field: "NAL unit type")),
      ([0x7C], ParsingError(.truncated, field: "FU header", offset: 1)),
      ([0x7C, 0x9C, 1], ParsingError(.invalid, field: "FU header", offset: 1)),  // FU-A of FU-A
      ([0x78, 0, 2, 0x67, 1, 0], ParsingError(.truncated, field: "NALU size", offset: 5)),
      ([0x78, 0, 3, 0x67, 1], ParsingError(.truncated, field: "NALU size", offset: 1)),
    ] as [([UInt8], ParsingError)])
  func `a malformed packet throws, is counted, and damages its access unit only`(payload: [UInt8], error: ParsingError)
    throws
  {
    var depacketizer = H264Depacketizer()
    #expect(throws: error) { try depacketizer.depacketize(Self.packet(1, 0, payload)) }
    #expect(depacketizer.droppedPacketCount == 1)
    #expect(try depacketizer.depacketize(Self.packet(2, 0, [0x65, 0x88], marker: true)).count == 1)
  }

  @Test func `an access unit never exceeds its maximum length`() throws {
    var depacketizer = H264Depacketizer(maximumAccessUnitLength: 1000)
    _ = try depacketizer.depacketize(Self.packet(0, 0, [0x7C, 0x85] + [UInt8](repeating: 1, count: 400)))
    _ = try depacketizer.depacketize(Self.packet(1, 0, [0x7C, 0x05] + [UInt8](repeating: 1, count: 400)))
    #expect(throws: ParsingError(.tooLarge, field: "access unit")) {
      try depacketizer.depacketize(Self.packet(2, 0, [0x7C, 0x05] + [UInt8](repeating: 1, count: 400)))
    }
    #expect(try depacketizer.depacketize(Self.packet(3, 0, [0x7C, 0x45, 1], marker: true)).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(4, 1, [0x65, 0x88], marker: true)).count == 1)
    #expect(depacketizer.droppedPacketCount == 2)
  }

  @Test func `a packet with padding only is not a loss`() throws {
    var depacketizer = H264Depacketizer()
    _ = try depacketizer.depacketize(Self.packet(1, 0, [0x65, 0x88]))
    #expect(try depacketizer.depacketize(Self.packet(2, 0, [])).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(3, 0, [0x65, 0x41], marker: true)).map(\.isComplete) == [true])
  }

  /// A keyframe, a frame that depends on it, and a keyframe.
  private static func stream() throws -> [RTPPacket] {
    var packetizer = H264PacketizerTests.packetizer(maximumPayloadLength: 200)
    var packets: [RTPPacket] = []
    for (index, units) in [Self.keyframe, Self.delta, Self.keyframe].enumerated() {
      let sample = H264PacketizerTests.sample(
        units, at: MediaTime(ticks: Int64(index) * 3000, timescale: 90_000), isKeyframe: index != 1)
      packets += try H264PacketizerTests.packets(packetizer.packetize(sample))
    }
    return packets
  }

  private static func depacketize(
    _ packets: [RTPPacket], _ depacketizer: inout H264Depacketizer
  ) throws -> [H264Depacketizer.Output] {
    var outputs: [H264Depacketizer.Output] = []
    for packet in packets { outputs += try depacketizer.depacketize(packet) }
    return outputs
  }

  private static func packet(
    _ sequenceNumber: UInt16, _ timestamp: UInt32, _ payload: [UInt8], marker: Bool = false
  ) -> RTPPacket {
    RTPPacket(
      header: RTPHeader(
        marker: marker, payloadType: 96, sequenceNumber: sequenceNumber, timestamp: timestamp, ssrc: 7),
      payload: ByteBuffer(bytes: payload))
  }
}
