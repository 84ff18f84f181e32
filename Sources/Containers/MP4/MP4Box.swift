public import Media
public import NIOCore

/// A box that is in memory as a whole, ISO/IEC 14496-12 §4.2.
///
/// Boxes are looked into one level at a time, so that depth costs nothing.
public struct MP4Box: Hashable, Sendable {
  /// The type.
  public var type: FourCharacterCode
  /// A slice of the bytes behind the header.
  public var content: ByteBuffer
  /// Where the box starts, header included, counted from the start of what was parsed.
  public var offset: Int

  /// Parses boxes one behind the other, up to the end.
  ///
  /// - Throws: ``ParsingError``: `.truncated` when the last one is not complete, `.invalid` for a size that is
  ///   less than the header's.
  public static func boxes(in buffer: ByteBuffer) throws(ParsingError) -> [MP4Box] {
    var boxes: [MP4Box] = []
    var rest = buffer
    while rest.readableBytes > 0 {
      let offset = rest.readerIndex - buffer.readerIndex
      do throws(ParsingError) {
        guard
          let header = try MP4BoxHeader(parsing: &rest),
          let length = Int(exactly: header.contentLength ?? UInt64(rest.readableBytes)),
          let content = rest.readSlice(length: length)
        else { throw ParsingError(.truncated, field: "size", offset: 0) }
        boxes.append(MP4Box(type: header.type, content: content, offset: offset))
      } catch {
        throw ParsingError(error.code, field: error.field, offset: offset)
      }
    }
    return boxes
  }

  /// The boxes inside this one.
  ///
  /// - Parameter skipped: Bytes of fields before the first: 8 for `stsd` and `dref`, 78 for `avc1`, 28 for `mp4a`.
  /// - Throws: ``ParsingError`` as ``boxes(in:)``, with offsets from the start of the content.
  public func children(skipping skipped: Int = 0) throws(ParsingError) -> [MP4Box] {
    var content = self.content
    guard content.readSlice(length: skipped) != nil else {
      throw ParsingError(.truncated, field: self.type.description)
    }
    return try Self.boxes(in: content)
  }

  /// The first box of a type inside this one.
  ///
  /// - Throws: ``ParsingError`` `.missing` without one, or as ``boxes(in:)``.
  public func child(_ type: FourCharacterCode) throws(ParsingError) -> MP4Box {
    guard let box = try self.children().first(where: { $0.type == type }) else {
      throw ParsingError(.missing, field: type.description, offset: self.offset)
    }
    return box
  }

  /// The version and flags of a full box, and what is behind them.
  ///
  /// - Throws: ``ParsingError`` `.truncated`.
  public func full() throws(ParsingError) -> (version: UInt8, flags: UInt32, content: ByteBuffer) {
    var content = self.content
    guard let word = content.readInteger(as: UInt32.self) else {
      throw ParsingError(.truncated, field: self.type.description, offset: self.offset)
    }
    return (UInt8(truncatingIfNeeded: word >> 24), word & 0xFF_FFFF, content)
  }
}
