import Foundation
import Media
import NIOCore
import Testing

import struct TestSupport.SplitMix

@testable import RTMP

@Suite("Chunks, RTMP 1.0 §5.3")
struct ChunkTests {
  /// All messages of bytes that arrive in pieces.
  private static func messages(
    _ bytes: ByteBuffer, inPiecesOf size: Int = .max, limits: RTMPChunkReader.Limits = .media
  ) throws(ParsingError) -> [RTMPMessage] {
    var reader = RTMPChunkReader(limits: limits)
    var rest = bytes
    var messages: [RTMPMessage] = []
    while rest.readableBytes > 0 {
      reader.append(rest.readSlice(length: min(size, rest.readableBytes)) ?? ByteBuffer())
      while let message = try reader.next() { messages.append(message) }
    }
    return messages
  }

  private static func audio(_ timestamp: UInt32, _ length: Int, streamID: UInt32 = 12_345) -> RTMPMessage {
    RTMPMessage(
      type: .audio, timestamp: timestamp, streamID: streamID, payload: ByteBuffer(repeating: 0xA0, count: length))
  }

  /// Payload bytes as text.
  private static func payload(_ count: Int) -> String { String(repeating: "A0", count: count) }

  @Test(arguments: [1, 2, 3, 5, 11, 64, 1000])
  func `the example of §5.3.2.1: four messages of one chunk each`(size: Int) throws {
    let input = bytes(
      "03 0003E8 000020 08 39300000 \(Self.payload(32))"  // fmt 0: 1000 ms, 32 bytes, audio, stream 12345
        + "83 000014 \(Self.payload(32))"  // fmt 2: 20 ms later
        + "C3 \(Self.payload(32))" + "C3 \(Self.payload(32))")  // fmt 3: the same again
    #expect(input.readableBytes == 44 + 36 + 33 + 33)
    #expect(try Self.messages(input, inPiecesOf: size) == [1000, 1020, 1040, 1060].map { Self.audio($0, 32) })
  }

  @Test(arguments: [1, 2, 3, 127, 129, 1000])
  func `the example of §5.3.2.2: a message of 307 bytes in three chunks`(size: Int) throws {
    let input = bytes(
      "04 0003E8 000133 09 3A300000 \(Self.payload(128)) C4 \(Self.payload(128)) C4 \(Self.payload(51))")
    #expect(input.readableBytes == 140 + 129 + 52)
    let message = RTMPMessage(
      type: .video, timestamp: 1000, streamID: 12_346, payload: ByteBuffer(repeating: 0xA0, count: 307))
    #expect(try Self.messages(input, inPiecesOf: size) == [message])
  }

  @Test func `chunk stream IDs have 6, 8 and 16 bits`() throws {
    for header in ["3F", "00 00", "00 FF", "01 0000", "01 FFFF"] {
      #expect(try Self.messages(bytes("\(header) 000001 000001 08 39300000 A0")) == [Self.audio(1, 1)])
    }
    // 64 + 0 + 1 × 256 with the low byte first, and 64 + 255 + 1, are the same chunk stream.
    let input = bytes("01 0001 000001 000001 08 39300000 A0" + "C1 0001 A0")
    #expect(try Self.messages(input) == [Self.audio(1, 1), Self.audio(1, 1)])
  }

  /// Message headers with an extended timestamp, fmt 0, or an extended delta, of a message of 300 bytes, and the time of it.
  private static let extendedHeaders: [(header: String, time: UInt32)] = [
    ("04 FFFFFF 00012C 08 39300000 01000000", 0x0100_0000), ("44 FFFFFF 00012C 08 01000000", 0x0100_0064),
    ("84 FFFFFF 01000000", 0x0100_0064), ("44 FFFFFF 00012C 08 FFFFFEF7", 0xFFFF_FF5B),
  ]

  @Test(arguments: extendedHeaders, [1, 4, 1000])
  func `behind fmt 3 senders repeat the header's extended field, or the message's time, or neither`(
    extended: (header: String, time: UInt32), size: Int
  ) throws {
    let previous = Self.audio(100, 300)
    let start = "04 000064 00012C 08 39300000 \(Self.payload(128)) C4 \(Self.payload(128)) C4 \(Self.payload(44))"
    for repeated in [String(extended.header.suffix(8)), String(format: "%08X", extended.time), ""] {
      let input = bytes(
        start + "\(extended.header) \(Self.payload(128)) C4 \(repeated) \(Self.payload(128))"
          + "C4 \(repeated) \(Self.payload(44)) 04 000001 000001 08 39300000 A0")
      #expect(
        try Self.messages(input, inPiecesOf: size) == [previous, Self.audio(extended.time, 300), Self.audio(1, 1)],
        "\(repeated)")
    }
  }

  @Test func `a message of fmt 3 behind an extended delta has the delta, or its own time, or neither`() throws {
    for repeated in ["01000000", "02000064", ""] {
      let input = bytes(
        "04 000064 000001 08 39300000 A0" + "84 FFFFFF 01000000 A0" + "C4 \(repeated) A0"
          + "04 000001 000001 08 39300000 A0")
      #expect(try Self.messages(input).map(\.timestamp) == [100, 0x0100_0064, 0x0200_0064, 1], "\(repeated)")
    }
  }

  @Test func `extended deltas add up and wrap`() throws {
    let input = bytes("04 FFFFFF 000001 08 39300000 FFFFFFFF A0" + "84 FFFFFF 01000000 A0" + "C4 01000000 A0")
    #expect(try Self.messages(input).map(\.timestamp) == [0xFFFF_FFFF, 0x00FF_FFFF, 0x01FF_FFFF])
  }

  @Test func `fmt 3 behind fmt 0 is at the same time, as librtmp means it`() throws {
    let input = bytes("04 0003E8 000001 08 39300000 A0 C4 A0")
    #expect(try Self.messages(input).map(\.timestamp) == [1000, 1000])
  }

  @Test(arguments: [1, 3, 1000])
  func `the chunk size changes in the midst of a message`(size: Int) throws {
    let input = bytes(
      "04 000000 000085 08 39300000 \(Self.payload(128))"
        + "02 000000 000004 01 00000000 00000003"  // Set Chunk Size 3
        + "C4 \(Self.payload(3)) C4 \(Self.payload(2))")
    #expect(
      try Self.messages(input, inPiecesOf: size) == [RTMPControlMessage.setChunkSize(3).message, Self.audio(0, 133)])
  }

  @Test func `audio is between the chunks of a video`() throws {
    let input = bytes(
      "06 000000 000100 09 39300000 \(Self.payload(128))" + "04 000001 000001 08 39300000 A0"
        + "C6 \(Self.payload(128))")
    #expect(try Self.messages(input).map(\.type) == [.audio, .video])
  }

  @Test func `an aborted message is discarded, and the next one on its chunk stream is read`() throws {
    let abort = RTMPControlMessage.abort(chunkStreamID: 4)
    var reader = RTMPChunkReader(limits: .media)
    reader.append(
      bytes(
        "04 000000 000100 08 39300000 \(Self.payload(128))" + "02 000000 000004 02 00000000 00000004"
          + "04 000007 000001 08 39300000 A0"))
    #expect(try reader.next() == abort.message)
    #expect(try reader.next() == Self.audio(7, 1))
    #expect(reader.discardedMessageCount == 1)
    #expect(reader.heldByteCount == 0)
  }

  @Test func `a message header in the midst of a message discards the unfinished one`() throws {
    let input = bytes("04 000000 000100 08 39300000 \(Self.payload(128)) 44 000005 000001 08 A0")
    #expect(try Self.messages(input) == [Self.audio(5, 1)])
  }

  @Test func `a chunk stream may begin with fmt 1, and not with fmt 2 or 3`() throws {
    #expect(try Self.messages(bytes("44 000005 000001 08 A0")) == [Self.audio(5, 1, streamID: 0)])
    for input in ["84 000005 A0", "C4 A0"] {
      let found = error { () throws(ParsingError) in _ = try Self.messages(bytes(input)) }
      #expect(found == ParsingError(.invalid, field: "fmt"))
    }
  }

  @Test(arguments: ["00000000", "80000000", "FFFFFFFF"])
  func `a chunk size of 0 or of more than 31 bits is invalid, and the framing stays lost`(size: String) {
    var reader = RTMPChunkReader(limits: .media)
    reader.append(bytes("02 000000 000004 01 00000000 \(size)"))
    for _ in 0..<2 {
      #expect(throws: ParsingError(.invalid, field: "chunk size", offset: 0)) { try reader.next() }
      reader.append(bytes("04 000001 000001 08 39300000 A0"))
    }
  }

  @Test func `messages, unfinished messages and chunk streams have limits`() {
    let long = error { () throws(ParsingError) in
      _ = try Self.messages(bytes("04 000000 FFFFFF 08 39300000"), limits: .commands)
    }
    #expect(long == ParsingError(.tooLarge, field: "message length"))
    var many = ByteBuffer()
    for id in 0..<65 {
      many.writeImmutableBuffer(bytes("00 \(String(64 + id, radix: 16)) 000000 000001 08 39300000 A0"))
    }
    let streams = error { () throws(ParsingError) in _ = try Self.messages(many) }
    #expect(streams == ParsingError(.tooLarge, field: "chunk streams"))
    var unfinished = ByteBuffer()
    unfinished.writeImmutableBuffer(bytes("02 000000 000004 01 00000000 0000FFFF"))
    for id in 10..<20 {
      unfinished.writeImmutableBuffer(bytes("\(id) 000000 010000 08 39300000"))
      unfinished.writeRepeatingByte(0, count: 65_535)
    }
    let held = error { () throws(ParsingError) in _ = try Self.messages(unfinished, limits: .commands) }
    #expect(held == ParsingError(.tooLarge, field: "unfinished messages"))
  }

  @Test func `a message of 16 MB that is only announced takes no memory`() throws {
    var reader = RTMPChunkReader(limits: RTMPChunkReader.Limits(messageLength: RTMPMessage.maximumLength))
    reader.append(bytes("04 000000 FFFFFF 08 39300000 A0"))
    #expect(try reader.next() == nil)
    #expect(reader.heldByteCount == 1)
  }

  @Test func `a message of 16 MB in chunks of 128 bytes is read`() throws {
    let message = Self.audio(0, RTMPMessage.maximumLength)
    var buffer = ByteBuffer()
    var writer = RTMPChunkWriter(chunkSize: 4096)
    writer.write(RTMPControlMessage.setChunkSize(128).message, into: &buffer)
    writer.write(message, into: &buffer)
    let limits = RTMPChunkReader.Limits(messageLength: RTMPMessage.maximumLength)
    #expect(try Self.messages(buffer, inPiecesOf: 65_536, limits: limits).last == message)
  }

  @Test func `messages of any kind and size survive the writer and any pieces`() throws {
    for seed in UInt64(1)...50 {
      var random = SplitMix(seed: seed)
      var buffer = ByteBuffer()
      var writer = RTMPChunkWriter()
      var expected: [RTMPMessage] = []
      for _ in 0..<20 {
        var message = Self.audio(UInt32(truncatingIfNeeded: random.next()), random.next(upTo: 1000) - 1, streamID: 1)
        if random.next() % 2 == 0 { message.timestamp %= 0x1FF_FFFF }
        message.type = [.audio, .video, .dataAMF0, .commandAMF0][Int(random.next() % 4)]
        if random.next() % 5 == 0 { message = RTMPControlMessage.setChunkSize(random.next(upTo: 500)).message }
        let before = buffer.readableBytes
        let length = writer.length(of: message)
        writer.write(message, into: &buffer)
        #expect(buffer.readableBytes - before == length, "seed \(seed)")
        expected.append(message)
      }
      #expect(try Self.messages(buffer, inPiecesOf: random.next(upTo: 300)) == expected, "seed \(seed)")
      for length in stride(from: 0, to: buffer.readableBytes, by: 97) {
        let some = try Self.messages(ByteBuffer(bytes: buffer.readableBytesView.prefix(length)))
        #expect(some == Array(expected.prefix(some.count)), "seed \(seed)")
      }
    }
  }
}
