import Bitstreams
import Media
import NIOCore
import Testing

@testable import RTP

@Suite("VP8 depacketizer, RFC 7741")
struct VP8DepacketizerTests {
  /// A keyframe of 640×360 with 40 bytes of first partition, RFC 6386 §9.1.
  static let keyframe: [UInt8] =
    [0x10, 0x05, 0x00, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0x68, 0x01] + [UInt8](repeating: 7, count: 40)
  /// A shown frame with 20 bytes of first partition that refers to others.
  static let interframe: [UInt8] = [0x91, 0x02, 0x00] + [UInt8](repeating: 9, count: 20)

  /// The packets of a frame, with up to `length` bytes each, as libvpx's senders write them: X, and a PictureID of 15 bits.
  static func packets(
    _ frame: [UInt8], first number: UInt16, timestamp: UInt32, length: Int = 16, hasMarker: Bool = true
  ) -> [RTPPacket] {
    stride(from: 0, to: frame.count, by: length).enumerated().map { index, offset in
      let end = min(offset + length, frame.count)
      var payload = ByteBuffer(bytes: [offset == 0 ? 0x90 : 0x80, 0x80, 0x92, 0x34])
      payload.writeBytes(frame[offset..<end])
      return RTPPacket(
        header: RTPHeader(
          marker: hasMarker && end == frame.count, payloadType: 120, sequenceNumber: number &+ UInt16(index),
          timestamp: timestamp, ssrc: 1), payload: payload)
    }
  }

  private static func run(
    _ packets: [RTPPacket], _ depacketizer: inout VP8Depacketizer
  ) throws -> [VP8Depacketizer.Output] {
    try packets.flatMap { try depacketizer.depacketize($0) }
  }

  /// Descriptor bytes, their number, and whether they start a frame.
  @Test(
    arguments: [
      ([0x10, 0xFF], 1, true),  // S, partition 0
      ([0x00, 0xFF], 1, false),  // a later packet
      ([0x11, 0xFF], 1, false),  // S, partition 1
      ([0xB0, 0x80, 0x05, 0xFF], 3, true),  // N; X; I with 7 bits
      ([0x90, 0x80, 0x92, 0x34, 0xFF], 4, true),  // I with 15 bits
      ([0x90, 0xE0, 0x92, 0x34, 0x07, 0x20, 0xFF], 6, true),  // I, L and T
      ([0x90, 0x10, 0x1F, 0xFF], 3, true),  // K
      ([0x90, 0x00, 0xFF], 2, true),  // X without any
    ] as [([UInt8], Int, Bool)])
  func `the descriptor is consumed, and each prefix is truncated`(bytes: [UInt8], length: Int, startsFrame: Bool) throws
  {
    var buffer = ByteBuffer(bytes: bytes)
    #expect(try VP8PayloadDescriptor(parsing: &buffer).startsFrame == startsFrame)
    #expect(buffer.readableBytes == bytes.count - length)
    for prefix in 0..<length {
      #expect(throws: ParsingError.self) {
        var buffer = ByteBuffer(bytes: bytes[..<prefix])
        _ = try VP8PayloadDescriptor(parsing: &buffer)
      }
    }
  }

  @Test(arguments: [1, 7, 16, 1200])
  func `frames come out as they were cut, over the wrap of sequence numbers`(length: Int) throws {
    var depacketizer = VP8Depacketizer()
    let first = Self.packets(Self.keyframe, first: 0xFFFE, timestamp: 0xFFFF_FFF0, length: length)
    let second = Self.packets(
      Self.interframe, first: 0xFFFE &+ UInt16(first.count), timestamp: 2_000, length: length)
    let outputs = try Self.run(first + second, &depacketizer)
    #expect(outputs.map { Array($0.payload.readableBytesView) } == [Self.keyframe, Self.interframe])
    #expect(outputs.map(\.timestamp) == [0xFFFF_FFF0, 2_000])
    #expect(outputs.map(\.header.size) == [.init(width: 640, height: 360), nil])
    #expect(depacketizer.lostPacketCount == 0 && depacketizer.droppedFrameCount == 0)
  }

  @Test func `a frame without a marker ends at the next timestamp`() throws {
    var depacketizer = VP8Depacketizer()
    let first = Self.packets(Self.keyframe, first: 1, timestamp: 0, hasMarker: false)
    #expect(try Self.run(first, &depacketizer).isEmpty)
    let second = Self.packets(Self.interframe, first: 1 + UInt16(first.count), timestamp: 3000, length: 100)
    #expect(try Self.run(second, &depacketizer).count == 2)
  }

  @Test func `nothing is returned before a keyframe`() throws {
    var depacketizer = VP8Depacketizer()
    #expect(try Self.run(Self.packets(Self.interframe, first: 1, timestamp: 0), &depacketizer).isEmpty)
    #expect(depacketizer.awaitsKeyframe && depacketizer.droppedFrameCount == 1)
  }

  @Test func `whichever packet of a keyframe is lost, frames are dropped until the next keyframe`() throws {
    let lostFrame = Self.packets(Self.keyframe, first: 1, timestamp: 0)
    let after = UInt16(lostFrame.count)
    let rest =
      Self.packets(Self.interframe, first: 1 + after, timestamp: 3000, length: 100)
      + Self.packets(Self.keyframe, first: 2 + after, timestamp: 6000, length: 100)
    for lost in lostFrame.indices.dropFirst() {
      var depacketizer = VP8Depacketizer()
      var packets = lostFrame
      packets.remove(at: lost)
      let outputs = try Self.run(packets + rest, &depacketizer)
      #expect(outputs.map(\.timestamp) == [6000], "packet \(lost)")
      #expect(depacketizer.lostPacketCount == 1)
    }
  }

  @Test func `a whole lost frame makes the next ones wait for a keyframe`() throws {
    var depacketizer = VP8Depacketizer()
    let packets =
      Self.packets(Self.keyframe, first: 1, timestamp: 0, length: 100)
      + Self.packets(Self.interframe, first: 3, timestamp: 6000, length: 100)
    #expect(try Self.run(packets, &depacketizer).map(\.timestamp) == [0])
    #expect(depacketizer.awaitsKeyframe)
  }

  @Test func `a late packet and padding change nothing`() throws {
    var depacketizer = VP8Depacketizer()
    let frame = Self.packets(Self.keyframe, first: 1, timestamp: 0)
    var padding = frame[0]
    padding.header.sequenceNumber = 3
    padding.payload = ByteBuffer()
    var shifted = frame
    for index in shifted.indices.dropFirst(2) { shifted[index].header.sequenceNumber &+= 1 }
    let outputs = try Self.run([shifted[0], shifted[1], shifted[0], padding] + shifted[2...], &depacketizer)
    #expect(outputs.map { Array($0.payload.readableBytesView) } == [Self.keyframe])
    #expect(depacketizer.droppedPacketCount == 1)
  }

  @Test func `a second start within a frame drops it`() throws {
    var depacketizer = VP8Depacketizer()
    var packets = Self.packets(Self.keyframe, first: 1, timestamp: 0)
    packets[1].payload.setInteger(UInt8(0x90), at: 0)
    #expect(try Self.run(packets, &depacketizer).isEmpty)
    #expect(depacketizer.droppedFrameCount == 1)
  }

  @Test func `endless fragments are refused, and the next keyframe is taken`() throws {
    var depacketizer = VP8Depacketizer(maximumFrameLength: 64)
    let endless = Self.packets(
      Self.keyframe + [UInt8](repeating: 0, count: 100), first: 1, timestamp: 0, length: 20, hasMarker: false)
    for packet in endless.prefix(3) { #expect(try depacketizer.depacketize(packet).isEmpty) }
    let error = #expect(throws: ParsingError.self) { try depacketizer.depacketize(endless[3]) }
    #expect(error == ParsingError(.tooLarge, field: "frame"))
    let rest = Self.packets(Self.keyframe, first: 5, timestamp: 3000, length: 100)
    #expect(try Self.run(rest, &depacketizer).map(\.timestamp) == [3000])
  }

  @Test func `a frame whose header is malformed is dropped, and counted`() throws {
    var depacketizer = VP8Depacketizer()
    var frame = Self.keyframe
    frame[3] = 0
    let packets = Self.packets(frame, first: 1, timestamp: 0, length: 100)
    let error = #expect(throws: ParsingError.self) { try depacketizer.depacketize(packets[0]) }
    #expect(error?.field == "start code" && depacketizer.droppedFrameCount == 1)
  }
}

@Suite("Opus depacketizer, RFC 7587")
struct OpusDepacketizerTests {
  /// A packet with 20 ms of stereo.
  private static func packet(_ number: UInt16, _ timestamp: UInt32, _ bytes: [UInt8] = [0xFC, 1, 2]) -> RTPPacket {
    RTPPacket(
      header: RTPHeader(marker: false, payloadType: 111, sequenceNumber: number, timestamp: timestamp, ssrc: 1),
      payload: ByteBuffer(bytes: bytes))
  }

  /// Sequence number and timestamp of a packet behind one with 65,535 and 0xFFFF_FFFF.
  @Test(
    arguments: [
      (0, 959),
      // DTX: 400 ms without packets.
      (0, 959 + 19_200),
      // Two packets were lost.
      (2, 959 + 1920),
      // The timeline goes back.
      (0, 100),
    ] as [(UInt16, UInt32)])
  func `packets that are missing show in the times of others, and are counted by numbers`(
    number: UInt16, timestamp: UInt32
  ) throws {
    var depacketizer = OpusDepacketizer()
    let first = try #require(try depacketizer.depacketize(Self.packet(65_535, 0xFFFF_FFFF)))
    #expect(first.header.sampleCount == 960)
    let second = try #require(try depacketizer.depacketize(Self.packet(number, timestamp)))
    #expect(second.timestamp == timestamp)
    #expect(depacketizer.lostPacketCount == UInt64(number))
  }

  @Test func `padding and late packets give nothing, a malformed one counts as dropped`() throws {
    var depacketizer = OpusDepacketizer()
    #expect(try depacketizer.depacketize(Self.packet(1, 0)) != nil)
    #expect(try depacketizer.depacketize(Self.packet(2, 0, [])) == nil)
    #expect(try depacketizer.depacketize(Self.packet(1, 0)) == nil)
    #expect(throws: ParsingError.self) { try depacketizer.depacketize(Self.packet(3, 960, [0xFF, 0])) }
    #expect(try depacketizer.depacketize(Self.packet(4, 1920))?.timestamp == 1920)
    #expect(depacketizer.droppedPacketCount == 2)
  }
}
