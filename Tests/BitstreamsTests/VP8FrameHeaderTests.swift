import Bitstreams
import Media
import NIOCore
import Testing

@Suite("VP8 frame header, RFC 6386 §9.1")
struct VP8FrameHeaderTests {
  /// A shown keyframe of version 0 with a first partition of 2 bytes, 640×360: laid out by hand from §9.1.
  static let keyframe: [UInt8] = [
    0x50, 0x00, 0x00,  // frame tag: 2 << 5 | show_frame << 4 | version 0 << 1 | 0
    0x9D, 0x01, 0x2A,  // start code
    0x80, 0x02,  // width 640, scale 0
    0x68, 0x01,  // height 360, scale 0
    0xAA, 0xBB,  // first partition
  ]
  /// A frame that is not shown, with a first partition of 1 byte.
  static let interframe: [UInt8] = [0x21, 0x00, 0x00, 0xCC]

  @Test func `a keyframe has a size`() throws {
    let header = try VP8FrameHeader(parsing: ByteBuffer(bytes: Self.keyframe))
    #expect(header.size == VP8FrameHeader.Size(width: 640, height: 360))
    #expect(header.isKeyframe && header.isShown)
  }

  @Test func `the scale is no part of the size`() throws {
    var bytes = Self.keyframe
    bytes[7] |= 0x40
    bytes[9] |= 0x80
    #expect(
      try VP8FrameHeader(parsing: ByteBuffer(bytes: bytes)).size == VP8FrameHeader.Size(width: 640, height: 360))
  }

  @Test func `another frame has no size, and may be hidden`() throws {
    let header = try VP8FrameHeader(parsing: ByteBuffer(bytes: Self.interframe))
    #expect(header.size == nil && !header.isKeyframe && !header.isShown)
  }

  @Test(arguments: [keyframe, interframe])
  func `each prefix is truncated`(bytes: [UInt8]) {
    for length in bytes.indices {
      let error = #expect(throws: ParsingError.self) {
        try VP8FrameHeader(parsing: ByteBuffer(bytes: bytes[..<length]))
      }
      #expect(error?.code == .truncated, "\(length) bytes")
    }
  }

  /// Offset and value of a byte of ``keyframe``, and what they break.
  @Test(arguments: [(0, 0x58, "version"), (3, 0x9C, "start code")] as [(Int, UInt8, String)])
  func `a byte that the specification forbids is refused`(index: Int, value: UInt8, field: String) {
    var bytes = Self.keyframe
    bytes[index] = value
    let error = #expect(throws: ParsingError.self) { try VP8FrameHeader(parsing: ByteBuffer(bytes: bytes)) }
    #expect(error?.field == field)
  }

  @Test(arguments: [6, 8]) func `a keyframe without width or height is refused`(index: Int) {
    var bytes = Self.keyframe
    bytes[index] = 0
    bytes[index + 1] = 0
    let error = #expect(throws: ParsingError.self) { try VP8FrameHeader(parsing: ByteBuffer(bytes: bytes)) }
    #expect(error == ParsingError(.invalid, field: "frame size", offset: 6))
  }
}

@Suite("Opus packets, RFC 6716 §3")
struct OpusPacketHeaderTests {
  /// First bytes, duration in samples at 48 kHz, and whether the packet is stereo, by tables 2 and 3.
  @Test(
    arguments: [
      ([0x00], 480, false),  // configuration 0: SILK, 10 ms
      ([0x18], 2880, false),  // configuration 3: SILK, 60 ms
      ([0x60], 480, false),  // configuration 12: hybrid, 10 ms
      ([0x6C], 960, true),  // configuration 13: hybrid, 20 ms, stereo
      ([0x80], 120, false),  // configuration 16: CELT, 2.5 ms
      ([0xFC], 960, true),  // configuration 31: CELT, 20 ms, stereo; what browsers send
      ([0xFD], 1920, true),  // two frames of equal length
      ([0xFE], 1920, true),  // two frames of different lengths
      ([0xFF, 0x06], 5760, true),  // six frames
      ([0xFF, 0xC6], 5760, true),  // six frames with padding, of variable length
    ] as [([UInt8], Int, Bool)])
  func `configuration and code give the duration`(bytes: [UInt8], sampleCount: Int, isStereo: Bool) throws {
    let header = try OpusPacketHeader(parsing: ByteBuffer(bytes: bytes))
    #expect(header.sampleCount == sampleCount && header.isStereo == isStereo)
  }

  @Test(arguments: [[], [0xFF], [0xFF, 0x00], [0xFF, 0x07], [0x1D + 2, 0x03]] as [[UInt8]])
  func `no frames, more than 120 ms, and missing bytes are refused`(bytes: [UInt8]) {
    #expect(throws: ParsingError.self) { try OpusPacketHeader(parsing: ByteBuffer(bytes: bytes)) }
  }
}
