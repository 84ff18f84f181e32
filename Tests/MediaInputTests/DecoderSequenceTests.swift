import CLibav
import Codecs
import Testing

@testable import MediaInput

@Suite("Decoders of a track in succession")
struct DecoderSequenceTests {
  private static func decoder() throws -> PacketDecoder {
    let parameters = try #require(CodecParameters(jpegWidth: 16, height: 16))
    defer { withExtendedLifetime(parameters) {} }
    return try PacketDecoder(parameters.pointer, source: "test")
  }

  /// Appends packets, a second apart.
  private static func append(_ seconds: Range<Int64>, byteCount: Int32 = 1, to sequence: DecoderSequence) throws {
    var packet = av_packet_alloc()
    defer { av_packet_free(&packet) }
    let allocated = try #require(packet)
    for second in seconds {
      try #require(av_new_packet(allocated, byteCount) == 0)
      allocated.pointee.dts = second * 1_000_000_000
      sequence.append(allocated)
    }
  }

  @Test func `the span of all decoders counts`() throws {
    let sequence = DecoderSequence(try Self.decoder())
    #expect(!sequence.isFull(span: 0))
    try Self.append(0..<4, to: sequence)
    #expect(sequence.isFull(span: 3_000_000_000) && !sequence.isFull(span: 3_000_000_001))
    sequence.append(try Self.decoder())
    #expect(sequence.isFull(span: 3_000_000_000) && !sequence.isFull(span: 3_000_000_001))
    try Self.append(4..<6, to: sequence)
    #expect(sequence.isFull(span: 5_000_000_000) && !sequence.isFull(span: 5_000_000_001))
  }

  @Test func `packets and bytes of all decoders count`() throws {
    let sequence = DecoderSequence(try Self.decoder())
    try Self.append(0..<1, byteCount: 32 << 20, to: sequence)
    sequence.append(try Self.decoder())
    #expect(!sequence.isFull(span: .max))
    try Self.append(1..<2, byteCount: 32 << 20, to: sequence)
    #expect(sequence.isFull(span: .max))

    let small = DecoderSequence(try Self.decoder())
    try Self.append(0..<5_000, to: small)
    small.append(try Self.decoder())
    #expect(!small.isFull(span: .max))
    try Self.append(5_000..<9_000, to: small)
    #expect(small.isFull(span: .max))
  }

  @Test func `decoders are limited, and a reset leaves the last one`() throws {
    let sequence = DecoderSequence(try Self.decoder())
    for _ in 1..<15 { sequence.append(try Self.decoder()) }
    #expect(!sequence.isFull(span: .max))
    let last = try Self.decoder()
    sequence.append(last)
    #expect(sequence.isFull(span: .max) && sequence.current !== last)
    sequence.reset()
    #expect(!sequence.isFull(span: .max) && sequence.isEmpty && sequence.current === last)
  }

  @Test func `video whose size is not known may be large: several threads decode it`() throws {
    for (width, threadCount) in [(0, 4), (64, 1), (3_840, 4)] as [(Int32, Int32)] {
      let container = avformat_alloc_context()
      defer { avformat_free_context(container) }
      let stream = try #require(avformat_new_stream(container, nil))
      stream.pointee.codecpar.pointee.codec_type = AVMEDIA_TYPE_VIDEO
      stream.pointee.codecpar.pointee.codec_id = AV_CODEC_ID_H264
      (stream.pointee.codecpar.pointee.width, stream.pointee.codecpar.pointee.height) = (width, width)
      let decoder = try PacketDecoder(stream: stream, source: "test")
      #expect(decoder.context.pointee.thread_count == threadCount, "\(width)")
    }
  }
}
