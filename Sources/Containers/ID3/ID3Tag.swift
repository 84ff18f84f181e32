internal import Media
internal import NIOCore

/// Serializes an ID3v2.4.0 tag with one user defined text frame, `TXXX` (id3.org, "ID3 tag version 2.4.0", §3.1, §4 and §4.2.6).
///
/// | bytes | field |
/// |-------|-------|
/// | 3, 2, 1 | "ID3", version 4.0, no flags |
/// | 4     | tag size without this header, synchsafe |
/// | 4     | "TXXX" |
/// | 4, 2  | frame size without its header, synchsafe; no flags |
/// | 1     | text encoding: 3, UTF-8 |
/// | n, 1  | description, 0 |
/// | m     | value |
///
/// Players deliver a `TXXX` frame as description and text, whereas a `PRIV` frame is bytes that each page or program has
/// to decode.
enum ID3Tag {
  /// Maximum tag length in bytes, below the 65,535 of PES_packet_length.
  static let maximumLength = 60_000
  private static let headLength = 10
  private static let frameHeadLength = 10

  /// The tag of metadata; nil when the name contains U+0000, its terminator, or the tag exceeds ``maximumLength``.
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

  /// Synchsafe integer, §6.2: 28 bits in four bytes whose highest bit is 0.
  private static func synchsafe(_ number: Int) -> UInt32 {
    (0..<4).reduce(0) { bytes, index in
      let group = UInt32(truncatingIfNeeded: number >> (7 * index)) & 0x7F
      return bytes | group << (8 * index)
    }
  }
}
