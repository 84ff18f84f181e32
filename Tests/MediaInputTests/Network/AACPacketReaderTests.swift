import Bitstreams
import Capture
import Foundation
import Media
import NIOCore
import TestSupport
import Testing

@testable import MediaInput

@Suite("AAC packets", .timeLimit(.minutes(5)))
struct AACPacketReaderTests {
  static let block: [UInt8] = [0x21, 0x10, 0x04, 0x60, 0x8C, 0x1C]
  /// AAC-LC, 48 kHz, two channels.
  static let config: [UInt8] = [0x11, 0x90]

  /// A frame with an ADTS header, ISO/IEC 14496-3 §1.A.2.2.
  static func adts(blocks: Int = 1, configuration: UInt8 = 2, type: UInt8 = 2, crc: UInt16? = nil) throws -> [UInt8] {
    let config = try #require(AudioSpecificConfig(format: AudioFormat(sampleRate: 48_000, channelCount: 2)))
    var header = try #require(ADTSHeader(config, payloadLength: Self.block.count))
    header.rawDataBlockCount = blocks
    header.channelConfiguration = configuration
    header.audioObjectType = type
    header.crc = crc
    var buffer = ByteBuffer()
    header.serialize(into: &buffer)
    return Array(buffer.readableBytesView) + Self.block
  }

  static func read(_ bytes: [UInt8], extradata: [UInt8] = []) -> AudioPacket? {
    AACPacketReader(extradata: extradata).read(ByteBuffer(bytes: bytes))
  }

  @Test func `a packet described out of band is passed through unchanged`() {
    let packet = Self.read(Self.block, extradata: Self.config)
    #expect(packet?.payload == ByteBuffer(bytes: Self.block))
    #expect(packet?.description.audioSpecificConfig == Self.config)
    #expect(packet?.description.format == AudioFormat(sampleRate: 48_000, channelCount: 2))
    #expect(Self.read(Self.block) == nil)
  }

  @Test func `an ADTS header is removed and describes the packet`() throws {
    for crc in [nil, 7] as [UInt16?] {
      let packet = Self.read(try Self.adts(crc: crc))
      #expect(packet?.payload == ByteBuffer(bytes: Self.block))
      #expect(packet?.description.audioSpecificConfig == Self.config)
      #expect(packet?.description.format == AudioFormat(sampleRate: 48_000, channelCount: 2))
    }
    let whole = try Self.adts()
    for length in 0..<whole.count { #expect(Self.read(Array(whole[..<length])) == nil) }
    #expect(Self.read(whole + [0]) == nil)
  }

  @Test func `packets that an output does not support are skipped`() throws {
    for bytes in [
      try Self.adts(blocks: 2), try Self.adts(configuration: 0), try Self.adts(configuration: 6),
      try Self.adts(type: 1),
    ] {
      #expect(Self.read(bytes) == nil)
    }
    let others: [[UInt8]] = [
      [], [0x11], [0x11, 0x94], [0x11, 0x80], [0x11, 0xB0], [0x09, 0x90], [0x2B, 0x11, 0x88, 0x00],
      [0x11, 0x90, 0x56, 0xE5, 0x98],
    ]
    for extradata in others { #expect(Self.read(Self.block, extradata: extradata) == nil, "\(extradata)") }
  }

  @Test func `a new description applies from its packet on`() {
    var reader = AACPacketReader(extradata: Self.config)
    reader.replace(extradata: [0x12, 0x08])
    #expect(
      reader.read(ByteBuffer(bytes: Self.block))?.description.format
        == AudioFormat(sampleRate: 44_100, channelCount: 1))
    reader.replace(extradata: [])
    #expect(reader.read(ByteBuffer(bytes: Self.block)) == nil)
  }

  /// The payloads of a file of ADTS frames.
  private static func payloads(_ path: String) throws -> [ByteBuffer] {
    var rest = ByteBuffer(bytes: [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))))
    var payloads: [ByteBuffer] = []
    while rest.readableBytes > 0 {
      let length = try ADTSHeader(parsing: &rest).payloadLength
      let payload = rest.readSlice(length: length)
      payloads.append(try #require(payload))
    }
    return payloads
  }

  /// MPEG-TS has a header on each frame; fragmented MP4 and FLV describe all frames out of band.
  @Test(arguments: ["audio.ts", "audio.mp4", "audio.flv"])
  func `blocks of a network source carry the packets that they were decoded from`(name: String) throws {

    let path = try TestMedia.path(
      name,
      ["-f", "lavfi", "-i", "sine=f=440:r=44100:d=4", "-ac", "2", "-c:a", "aac", "-b:a", "96k"]
        + (name.hasSuffix("mp4") ? ["-movflags", "frag_keyframe+empty_moov"] : []))
    let copy = try TestMedia.path("\(name).adts", ["-i", path, "-c", "copy", "-f", "adts"])
    let expected = try Self.payloads(copy)
    let server = try LocalServer.files(in: TestMedia.folder.path)
    let source = try NetworkSource(url: "http://127.0.0.1:\(server.port)/\(name)")
    let audio = try #require(source.audio)
    let collector = AudioCollector()
    try audio.start(consumer: collector)
    let blocks = collector.blocks(samples: 88_200)
    audio.stop()
    let packets = blocks.compactMap(\.packet)
    #expect(packets.count >= 80 && blocks.count - packets.count <= 2)
    #expect(blocks.allSatisfy { $0.packet == nil || $0.sampleCount == 1024 })
    #expect(
      packets.allSatisfy {
        $0.description.format == audio.format && $0.description.samplesPerFrame == 1024
          && (try? AudioSpecificConfig(parsing: $0.description.audioSpecificConfig))?.audioObjectType == 2
      })
    let start = try #require(expected.firstIndex { $0 == packets[1].payload })
    #expect(packets.dropFirst().map(\.payload) == Array(expected[start..<start + packets.count - 1]))
  }

  @Test func `audio of another codec is only decoded`() throws {
    _ = try TestMedia.path(
      "mp2.ts", ["-f", "lavfi", "-i", "sine=r=44100:d=2", "-c:a", "mp2", "-f", "mpegts"])
    let server = try LocalServer.files(in: TestMedia.folder.path)
    let source = try NetworkSource(url: "http://127.0.0.1:\(server.port)/mp2.ts")
    let audio = try #require(source.audio)
    let collector = AudioCollector()
    try audio.start(consumer: collector)
    let blocks = collector.blocks(samples: 22_050)
    audio.stop()
    #expect(!blocks.isEmpty && blocks.allSatisfy { $0.packet == nil })
  }
}
