import Media
import NIOCore
import Testing

@testable import Containers

@Suite("FLV 10.1 Annex E, and Enhanced RTMP v2")
struct FLVTests {
  private static func buffer(_ bytes: [UInt8]) -> ByteBuffer { ByteBuffer(bytes: bytes) }

  /// A byte, a FourCC and the rest.
  private static func tag(_ head: [UInt8], _ code: String, _ rest: [UInt8] = []) -> [UInt8] {
    var bytes = head
    bytes += Array(code.utf8)
    bytes += rest
    return bytes
  }

  private static func serialized(_ tag: FLVVideoTag) -> ByteBuffer {
    var buffer = ByteBuffer()
    tag.serialize(into: &buffer)
    return buffer
  }

  private static func serialized(_ tag: FLVAudioTag) -> ByteBuffer {
    var buffer = ByteBuffer()
    tag.serialize(into: &buffer)
    return buffer
  }

  @Test func `a tag header has the upper byte of the time behind the others`() throws {
    let bytes: [UInt8] = [
      0x09,  // TagType: video
      0x01, 0x02, 0x03,  // DataSize
      0x22, 0x33, 0x44,  // Timestamp
      0x11,  // TimestampExtended
      0x00, 0x00, 0x00,  // StreamID
    ]
    let header = FLVTagHeader(type: 9, bodyLength: 0x01_0203, timestamp: 0x1122_3344)
    var buffer = Self.buffer(bytes)
    #expect(try FLVTagHeader(parsing: &buffer) == header)
    header.serialize(into: &buffer)
    #expect(buffer == Self.buffer(bytes))
    for length in 0..<11 {
      var prefix = Self.buffer(Array(bytes.prefix(length)))
      #expect(throws: ParsingError(.truncated, field: "FLV tag header", offset: 0)) {
        try FLVTagHeader(parsing: &prefix)
      }
    }
    var encrypted = Self.buffer([0x29] + bytes.dropFirst())
    #expect(throws: ParsingError(.unsupported, field: "Filter", offset: 0)) { try FLVTagHeader(parsing: &encrypted) }
  }

  private static let videoTags: [(tag: FLVVideoTag, bytes: [UInt8])] = [
    // FrameType 1, CodecID 7; AVCPacketType; CompositionTime.
    (.configuration(buffer([1, 0x64])), [0x17, 0, 0, 0, 0, 1, 0x64]),
    (.accessUnit(buffer([9]), compositionTime: 0x01_0203, isKeyframe: true), [0x17, 1, 1, 2, 3, 9]),
    (.accessUnit(buffer([9]), compositionTime: -1, isKeyframe: false), [0x27, 1, 0xFF, 0xFF, 0xFF, 9]),
    (.endOfSequence, [0x17, 2, 0, 0, 0]),
    (.ignored, []),
  ]

  @Test(arguments: Self.videoTags.indices)
  func `video is written and read`(index: Int) throws {
    let (tag, bytes) = Self.videoTags[index]
    #expect(Self.serialized(tag) == Self.buffer(bytes))
    #expect(try FLVVideoTag(parsing: Self.buffer(bytes)) == tag)
    for length in 1..<min(5, max(1, bytes.count)) where bytes.dropFirst().first != 2 || length < 2 {
      #expect(throws: ParsingError.self) { try FLVVideoTag(parsing: Self.buffer(Array(bytes.prefix(length)))) }
    }
  }

  private static let enhancedVideoTags: [([UInt8], FLVVideoTag)] = [
    // 1, FrameType, packet type; FourCC.
    (tag([0x90], "avc1", [1, 0x64]), .configuration(buffer([1, 0x64]))),
    (tag([0x91], "avc1", [0, 0, 40, 9]), .accessUnit(buffer([9]), compositionTime: 40, isKeyframe: true)),
    (tag([0xA3], "avc1", [9]), .accessUnit(buffer([9]), compositionTime: 0, isKeyframe: false)),
    (tag([0x92], "avc1"), .endOfSequence),
    (tag([0x94], "avc1", [2, 0]), .ignored),
    ([0xD0, 0], .ignored),  // A command, without FourCC.
    // ModEx: 3 bytes of nanoseconds, TimestampOffsetNano, then coded frames without composition time.
    (
      tag([0x97, 2, 0, 1, 2, 0x03], "avc1", [9]),
      .accessUnit(buffer([9]), compositionTime: 0, isKeyframe: true)
    ),
    // Two of them, the second of 256 bytes or more.
    (
      tag([0xA7, 0, 5, 0x07, 255, 1, 0] + [UInt8](repeating: 0, count: 257) + [0x13], "avc1", [9]),
      .accessUnit(buffer([9]), compositionTime: 0, isKeyframe: false)
    ),
    ([0x27, 2], .endOfSequence), ([0x57, 1], .ignored),
  ]

  @Test(arguments: Self.enhancedVideoTags.indices)
  func `enhanced headers and short ends are read`(index: Int) throws {
    let (bytes, tag) = Self.enhancedVideoTags[index]
    #expect(try FLVVideoTag(parsing: Self.buffer(bytes)) == tag)
  }

  private static let otherVideo: [([UInt8], String)] = [
    (tag([0x90], "hvc1"), "video codec HEVC"), (tag([0x90], "av01"), "video codec AV1"),
    (tag([0x90], "vp09"), "video codec VP9"), ([0x90, 1, 2, 3, 4], "video codec ????"),
    ([0x96, 0x00], "several video tracks"), ([0x1C, 1], "video codec HEVC"), ([0x1D, 1], "video codec AV1"),
    ([0x24, 1], "video codec VP6"), ([0x1F], "video codec 15"),
  ]

  @Test(arguments: Self.otherVideo)
  func `another video codec is unsupported, by name`(bytes: [UInt8], name: String) {
    let error = #expect(throws: ParsingError.self) { try FLVVideoTag(parsing: Self.buffer(bytes)) }
    #expect(error?.code == .unsupported && error?.field == name)
  }

  private static let audioTags: [(tag: FLVAudioTag, bytes: [UInt8])] = [
    // Format 10, 44 kHz, 16 bits, stereo; AACPacketType.
    (.configuration(buffer([0x11, 0x90])), [0xAF, 0, 0x11, 0x90]),
    (.frame(buffer([0x21, 1])), [0xAF, 1, 0x21, 1]),
  ]

  @Test(arguments: Self.audioTags.indices)
  func `audio is written and read`(index: Int) throws {
    let (tag, bytes) = Self.audioTags[index]
    #expect(Self.serialized(tag) == Self.buffer(bytes))
    #expect(try FLVAudioTag(parsing: Self.buffer(bytes)) == tag)
    #expect(throws: ParsingError(.truncated, field: "AACPacketType", offset: 1)) {
      try FLVAudioTag(parsing: Self.buffer([0xAF]))
    }
  }

  private static let enhancedAudioTags: [([UInt8], FLVAudioTag)] = [
    (tag([0x90], "mp4a", [0x11, 0x90]), .configuration(buffer([0x11, 0x90]))),
    (tag([0x91], "mp4a", [0x21]), .frame(buffer([0x21]))), (tag([0x92], "mp4a"), .endOfSequence),
    (tag([0x94], "mp4a"), .ignored), (tag([0x97, 0, 7, 0x01], "mp4a", [0x21]), .frame(buffer([0x21]))), ([], .ignored),
    ([0xA2, 1, 0x21], .frame(buffer([0x21]))),  // Other rate and channels in the first byte.
  ]

  @Test(arguments: Self.enhancedAudioTags.indices)
  func `enhanced audio headers are read`(index: Int) throws {
    let (bytes, tag) = Self.enhancedAudioTags[index]
    #expect(try FLVAudioTag(parsing: Self.buffer(bytes)) == tag)
  }

  private static let otherAudio: [([UInt8], String)] = [
    (tag([0x90], "Opus"), "audio codec Opus"), (tag([0x90], ".mp3"), "audio codec MP3"),
    ([0x95, 0], "several audio tracks"), ([0x2F, 1], "audio codec MP3"), ([0x7F], "audio codec G.711"),
    ([0xBF], "audio codec Speex"), ([0xDF], "audio codec Opus"),
  ]

  @Test(arguments: Self.otherAudio)
  func `another audio codec is unsupported, by name`(bytes: [UInt8], name: String) {
    let error = #expect(throws: ParsingError.self) { try FLVAudioTag(parsing: Self.buffer(bytes)) }
    #expect(error?.code == .unsupported && error?.field == name)
  }

  private static let shortVideo: [[UInt8]] = [
    [0x90], [0x97], [0x97, 2, 0], [0x97, 255, 0], tag([0x91], "avc1", [0, 0]), [0x90, 0x61, 0x76],
  ]

  @Test(arguments: Self.shortVideo)
  func `enhanced headers that end early are truncated`(bytes: [UInt8]) {
    let error = #expect(throws: ParsingError.self) { try FLVVideoTag(parsing: Self.buffer(bytes)) }
    #expect(error?.code == .truncated)
  }
}
