import Bitstreams
import Media
import NIOCore
import RTP
import Testing

@Suite("AAC in LATM over RTP, RFC 6416 §6")
struct LATMDepacketizerTests {
  /// Configuration as GStreamer writes it for AAC-LC, 44.1 kHz, two channels.
  private static let config: [UInt8] = [0x40, 0x00, 0x24, 0x20, 0x3F, 0xC0]

  private static func packet(
    _ number: UInt16, _ payload: [UInt8], marker: Bool = true, timestamp: UInt32 = 1_000
  ) -> RTPPacket {
    RTPPacket(
      header: RTPHeader(marker: marker, payloadType: 97, sequenceNumber: number, timestamp: timestamp, ssrc: 1),
      payload: ByteBuffer(bytes: payload))
  }

  private static func depacketizer(frameCount: Int = 1) throws -> LATMDepacketizer {
    var config = try StreamMuxConfig(parsing: Self.config)
    config.frameCount = frameCount
    return LATMDepacketizer(config)
  }

  @Test func `the configuration has that of AAC, which begins within a byte`() throws {
    let config = try StreamMuxConfig(parsing: Self.config)
    #expect(config.audioSpecificConfig == [0x12, 0x10] && config.frameCount == 1)
    let audio = try AudioSpecificConfig(parsing: config.audioSpecificConfig)
    #expect(audio.format == AudioFormat(sampleRate: 44_100, channelCount: 2))
  }

  /// AAC-LC, 44.1 kHz, with a backward-compatible extension that says that there is none, as of libavcodec's encoder.
  @Test(arguments: [[0x40, 0x00, 0x24, 0x10, 0xAD, 0xCA, 0x00], [0x40, 0x00, 0x24, 0x10]])
  func `a configuration of GStreamer ends behind that of AAC`(bytes: [UInt8]) throws {
    #expect(try StreamMuxConfig(parsing: bytes).audioSpecificConfig == [0x12, 0x08])
  }

  @Test func `prefixes of a configuration are truncated, and other forms are not supported`() {
    for length in 0..<4 {
      let error = #expect(throws: ParsingError.self) {
        _ = try StreamMuxConfig(parsing: Array(Self.config.prefix(length)))
      }
      #expect(error?.code == .truncated)
    }
    // A later version, a second program, and other frame lengths.
    for (index, byte) in [(0, 0xC0), (1, 0x10), (4, 0xFF)] as [(Int, UInt8)] {
      var bytes = Self.config
      bytes[index] = byte
      let error = #expect(throws: ParsingError.self) { _ = try StreamMuxConfig(parsing: bytes) }
      #expect(error?.code == .unsupported, "\(index)")
    }
  }

  @Test func `frames follow their lengths, which may be longer than a byte counts`() throws {
    var depacketizer = try Self.depacketizer(frameCount: 2)
    let long = [UInt8](repeating: 7, count: 300)
    let outputs = try depacketizer.depacketize(Self.packet(1, [255, 45] + long + [1, 9]))
    #expect(outputs.map(\.payload) == [ByteBuffer(bytes: long), ByteBuffer(bytes: [9])])
    #expect(outputs.map(\.timestamp) == [1_000, 2_024])
  }

  @Test func `an element fills packets up to the marker`() throws {
    var depacketizer = try Self.depacketizer()
    #expect(try depacketizer.depacketize(Self.packet(1, [4, 1, 2], marker: false)).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(2, [3, 4])).map(\.payload) == [ByteBuffer(bytes: [1, 2, 3, 4])])
  }

  @Test func `an element that has lost a packet is dropped, and the next one is whole`() throws {
    var depacketizer = try Self.depacketizer()
    #expect(try depacketizer.depacketize(Self.packet(1, [4, 1], marker: false)).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(3, [9, 4])).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(4, [1, 5])).map(\.payload) == [ByteBuffer(bytes: [5])])
    // A packet that is an element by itself is none behind a gap.
    #expect(try depacketizer.depacketize(Self.packet(9, [1, 6])).map(\.payload) == [ByteBuffer(bytes: [6])])
    #expect(depacketizer.droppedPacketCount == 2)
  }

  @Test func `a length beyond the end is an error, and an element without an end takes no memory`() throws {
    var depacketizer = try Self.depacketizer()
    let error = #expect(throws: ParsingError.self) { _ = try depacketizer.depacketize(Self.packet(1, [9, 1])) }
    #expect(error?.code == .truncated)
    let piece = [UInt8](repeating: 0, count: 40_000)
    #expect(try depacketizer.depacketize(Self.packet(2, piece, marker: false)).isEmpty)
    let tooLarge = #expect(throws: ParsingError.self) {
      _ = try depacketizer.depacketize(Self.packet(3, piece, marker: false))
    }
    #expect(tooLarge?.code == .tooLarge)
    #expect(try depacketizer.depacketize(Self.packet(4, [1, 1])).isEmpty)
    #expect(try depacketizer.depacketize(Self.packet(5, [1, 1])).count == 1)
  }

  @Test func `a session description in LATM is received`() throws {
    var media = MediaDescription(media: "audio", formats: ["97"])
    media.attributes = [
      SDPAttribute("rtpmap", "97 MP4A-LATM/44100/2"), SDPAttribute("fmtp", "97 config=400024203fc0"),
    ]
    #expect(throws: ParsingError.self) { _ = try RTPMediaFormat(media) }
    media.attributes[1] = SDPAttribute("fmtp", "97 cpresent=0;config=400024203fc0")
    var receiver = RTPStreamReceiver(ssrc: 1, canonicalName: "test")
    let outputs = try receiver.addTrack(0, format: RTPMediaFormat(media), reorders: false)
    guard case .description(.aac(let description))? = outputs.first else {
      throw ParsingError(.missing, field: "description")
    }
    #expect(description.audioSpecificConfig == [0x12, 0x10])
    var bytes = ByteBuffer()
    Self.packet(1, [2, 7, 8]).serialize(into: &bytes)
    let samples = try receiver.receive(rtp: bytes, track: 0, at: .zero)
    guard case .sample(let sample)? = samples.first else { throw ParsingError(.missing, field: "sample") }
    #expect(sample.kind == .audio && sample.payload == ByteBuffer(bytes: [7, 8]))
  }
}
