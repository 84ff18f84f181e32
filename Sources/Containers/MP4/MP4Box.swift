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
  /// - Throws: ``ContainerError``: `.truncated` when the last one is not complete, `.invalidValue` for a size that is
  ///   less than the header's.
  public static func boxes(in buffer: ByteBuffer) throws(ContainerError) -> [MP4Box] {
    var boxes: [MP4Box] = []
    var rest = buffer
    while rest.readableBytes > 0 {
      let offset = rest.readerIndex - buffer.readerIndex
      do throws(ContainerError) {
        guard
          let header = try MP4BoxHeader(parsing: &rest),
          let length = Int(exactly: header.contentLength ?? UInt64(rest.readableBytes)),
          let content = rest.readSlice(length: length)
        else { throw ContainerError(.truncated, field: "size") }
        boxes.append(MP4Box(type: header.type, content: content, offset: offset))
      } catch {
        throw ContainerError(error.code, field: error.field, offset: offset)
      }
    }
    return boxes
  }

  /// The boxes inside this one.
  ///
  /// - Parameter skipped: Bytes of fields before the first: 8 for `stsd` and `dref`, 78 for `avc1`, 28 for `mp4a`.
  /// - Throws: ``ContainerError`` as ``boxes(in:)``, with offsets from the start of the content.
  public func children(skipping skipped: Int = 0) throws(ContainerError) -> [MP4Box] {
    var content = self.content
    guard content.readSlice(length: skipped) != nil else {
      throw ContainerError(.truncated, field: self.type.description)
    }
    return try Self.boxes(in: content)
  }

  /// The first box of a type inside this one.
  ///
  /// - Throws: ``ContainerError`` `.missing` without one, or as ``boxes(in:)``.
  public func child(_ type: FourCharacterCode) throws(ContainerError) -> MP4Box {
    guard let box = try self.children().first(where: { $0.type == type }) else {
      throw ContainerError(.missing, field: type.description, offset: self.offset)
    }
    return box
  }

  /// The version and flags of a full box, and what is behind them.
  ///
  /// - Throws: ``ContainerError`` `.truncated`.
  public func full() throws(ContainerError) -> (version: UInt8, flags: UInt32, content: ByteBuffer) {
    var content = self.content
    guard let word = content.readInteger(as: UInt32.self) else {
      throw ContainerError(.truncated, field: self.type.description, offset: self.offset)
    }
    return (UInt8(truncatingIfNeeded: word >> 24), word & 0xFF_FFFF, content)
  }
}
