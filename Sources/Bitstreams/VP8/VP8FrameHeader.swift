package import Media
package import NIOCore

/// The uncompressed header of a VP8 frame, RFC 6386 §9.1.
///
/// ```
/// frame tag, 3 bytes, little-endian:
///   bit 0        0 for a keyframe
///   bits 1–3     version
///   bit 4        show_frame
///   bits 5–23    first_part_size
/// keyframes only:
///   9D 01 2A     start code
///   width        14 bits and 2 bits of scale, little-endian
///   height       14 bits and 2 bits of scale, little-endian
/// ```
package struct VP8FrameHeader: Hashable, Sendable {
  /// Frame size in pixels, without the upscaling that a player may apply.
  package struct Size: Hashable, Sendable {
    /// Width in pixels, 1 to 16,383.
    package var width: Int
    /// Height in pixels, 1 to 16,383.
    package var height: Int

    /// Creates a size in pixels.
    package init(width: Int, height: Int) {
      self.width = width
      self.height = height
    }
  }

  /// Size of a keyframe; nil for other frames, which have that of the last keyframe.
  package var size: Size?
  /// Whether the frame is displayed; others are only referred to.
  package var isShown: Bool

  /// Whether decoding can start here.
  package var isKeyframe: Bool { self.size != nil }

  /// Parses the header of a complete frame.
  ///
  /// - Throws: `ParsingError`: `.truncated` when the first partition reaches past the end, `.unsupported` for a version above 3,
  ///   `.invalid` for a keyframe without start code or size.
  package init(parsing frame: ByteBuffer) throws(ParsingError) {
    var rest = frame
    guard let (first, second, third) = rest.readMultipleIntegers(as: (UInt8, UInt8, UInt8).self) else {
      throw ParsingError(.truncated, field: "frame tag")
    }
    let tag = UInt32(third) << 16 | UInt32(second) << 8 | UInt32(first)
    guard tag >> 1 & 0b111 <= 3 else { throw ParsingError(.unsupported, field: "version") }
    self.isShown = tag >> 4 & 1 == 1
    if tag & 1 == 0 {
      guard let startCode = rest.readBytes(length: 3),
        let (width, height) = rest.readMultipleIntegers(endianness: .little, as: (UInt16, UInt16).self)
      else { throw ParsingError(.truncated, field: "keyframe header", offset: 3) }
      guard startCode == [0x9D, 0x01, 0x2A] else { throw ParsingError(.invalid, field: "start code", offset: 3) }
      let size = Size(width: Int(width & 0x3FFF), height: Int(height & 0x3FFF))
      guard size.width > 0, size.height > 0 else { throw ParsingError(.invalid, field: "frame size", offset: 6) }
      self.size = size
    }
    guard Int(tag >> 5) <= rest.readableBytes else { throw ParsingError(.truncated, field: "first_part_size") }
  }
}
