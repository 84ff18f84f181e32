public import Media
public import NIOCore

/// The head of a box, ISO/IEC 14496-12 §4.2: size and type.
///
/// | bits  | field |
/// |-------|-------|
/// | 32    | size, header included; 1: it follows in 64 bits; 0: the box reaches to the file's end |
/// | 32    | type |
/// | (64)  | largesize |
/// | (128) | usertype, of boxes "uuid" |
public struct MP4BoxHeader: Hashable, Sendable {
  /// The type.
  public var type: FourCharacterCode
  /// Bytes of the header: 8, 16 with a size in 64 bits, 16 more with a user type.
  public var length: Int
  /// Bytes behind the header; nil when the box reaches to the file's end.
  public var contentLength: UInt64?

  /// Parses and consumes a header.
  ///
  /// - Returns: nil when more bytes are needed; then nothing is consumed.
  /// - Throws: ``ParsingError`` `.invalid` when the size is less than the header's.
  public init?(parsing buffer: inout ByteBuffer) throws(ParsingError) {
    var rest = buffer
    guard let size = rest.readInteger(as: UInt32.self), let type = rest.readInteger(as: UInt32.self) else { return nil }
    self.type = FourCharacterCode(rawValue: type)
    var whole: UInt64? = UInt64(size)
    if size == 1 {
      guard let large = rest.readInteger(as: UInt64.self) else { return nil }
      whole = large
    } else if size == 0 {
      whole = nil
    }
    if self.type == "uuid", rest.readSlice(length: 16) == nil { return nil }
    self.length = buffer.readableBytes - rest.readableBytes
    if let whole {
      guard whole >= UInt64(self.length) else { throw ParsingError(.invalid, field: "size", offset: 0) }
      self.contentLength = whole - UInt64(self.length)
    }
    buffer = rest
  }
}
