internal import Media
internal import NIOCore

/// An ID3v2.4.0 tag with one user defined text frame, `TXXX` (id3.org, "ID3 tag version 2.4.0", §3.1, §4 and §4.2.6).
///
/// | bytes | field |
/// |-------|-------|
/// | 3, 2, 1 | "ID3", version 4.0, no flags |
/// | 4     | the bytes that follow, 7 bits in each byte |
/// | 4     | "TXXX" |
/// | 4, 2  | the frame's bytes that follow, 7 bits in each byte; no flags |
/// | 1     | text encoding: 3, UTF-8 |
/// | n, 1  | description, 0 |
/// | m     | value |
///
/// Players hand a `TXXX` frame to the page or program as description and text. A `PRIV` frame would be bytes, which each
/// of them would have to decode.
enum ID3Tag {
  /// The longest tag: what follows PES_packet_length must fit 16 bits, and no player expects more.
  static let maximumLength = 60_000
  private static let headLength = 10
  private static let frameHeadLength = 10

  /// A tag; nil when the name holds a 0, which ends it, or the tag would be too long.
  static func bytes(_ metadata: TimedMetadata) -> ByteBuffer? {
    let (name, text) = (metadata.name.utf8, metadata.text.utf8)
    let length = 1 + name.count + 1 + text.count
    guard !name.contains(0), length <= Self.maximumLength - Self.headLength - Self.frameHeadLength else { return nil }
    var tag = ByteBufferAllocator().buffer(capacity: Self.headLength + Self.frameHeadLength + length)
    tag.writeStaticString("ID3")
    tag.writeMultipleIntegers(UInt8(4), UInt8(0), UInt8(0), Self.synchsafe(Self.frameHeadLength + length))
    tag.writeStaticString("TXXX")
    tag.writeMultipleIntegers(Self.synchsafe(length), UInt16(0), UInt8(3))
    tag.writeNullTerminatedString(metadata.name)
    tag.writeString(metadata.text)
    return tag
  }

  /// A number of 28 bits in four bytes whose highest bit is 0, §6.2.
  private static func synchsafe(_ number: Int) -> UInt32 {
    (0..<4).reduce(0) { $0 | UInt32(number >> (7 * $1) & 0x7F) << UInt32(8 * $1) }
  }
}
