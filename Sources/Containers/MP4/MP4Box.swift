public import Media
public import NIOCore

/// A complete box in memory, ISO/IEC 14496-12 §4.2.
///
/// Children are parsed on demand, one level at a time, so that nesting depth needs no recursion.
public struct MP4Box: Hashable, Sendable {
  /// Box type, such as `moov`; `uuid` for an extended type, whose 16 bytes of usertype are skipped.
  public var type: FourCharacterCode
  /// Slice of the bytes after the header, of which a usertype is part.
  public var content: ByteBuffer
  /// Offset of the box header in bytes from the start of the parsed buffer.
  public var offset: Int

  /// Parses consecutive boxes up to the end of the buffer.
  ///
  /// - Throws: `.truncated` when the last box is incomplete, `.invalid` for a size smaller than the header.
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

  /// Parses the boxes inside this box.
  ///
  /// - Parameter skipped: Bytes of fields before the first child: 8 for `stsd` and `dref`, 78 for `avc1`, 28 for `mp4a`.
  /// - Throws: As ``boxes(in:)``, with offsets from the start of the content.
  public func children(skipping skipped: Int = 0) throws(ParsingError) -> [MP4Box] {
    var content = self.content
    guard content.readSlice(length: skipped) != nil else {
      throw ParsingError(.truncated, field: self.type.description)
    }
    return try Self.boxes(in: content)
  }

  /// Returns the first child of a type.
  ///
  /// - Throws: `.missing` without one, or as ``boxes(in:)``.
  public func child(_ type: FourCharacterCode) throws(ParsingError) -> MP4Box {
    guard let box = try self.children().first(where: { $0.type == type }) else {
      throw ParsingError(.missing, field: type.description, offset: self.offset)
    }
    return box
  }

  /// Parses version and flags of a full box; `content` is the rest.
  ///
  /// - Throws: `.truncated` for less than 4 bytes.
  public func full() throws(ParsingError) -> (version: UInt8, flags: UInt32, content: ByteBuffer) {
    var content = self.content
    guard let word = content.readInteger(as: UInt32.self) else {
      throw ParsingError(.truncated, field: self.type.description, offset: self.offset)
    }
    return (UInt8(truncatingIfNeeded: word >> 24), word & 0xFF_FFFF, content)
  }
}

/// Header of a box, ISO/IEC 14496-12 §4.2: size and type.
///
/// | bits  | field |
/// |-------|-------|
/// | 32    | size, header included; 1: largesize follows; 0: the box extends to the end of the file |
/// | 32    | type |
/// | (64)  | largesize |
/// | (128) | usertype, if type is "uuid" |
public struct MP4BoxHeader: Hashable, Sendable {
  /// Box type, such as `moov`; `uuid` when a usertype follows.
  public var type: FourCharacterCode
  /// Length of the header in bytes: 8, + 8 with largesize, + 16 with usertype.
  public var length: Int
  /// Bytes after the header; nil when the box extends to the end of the file.
  public var contentLength: UInt64?

  /// Parses and consumes a header.
  ///
  /// - Returns: nil when more bytes are needed; then nothing is consumed.
  /// - Throws: `.invalid` when the size is smaller than the header.
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

/// Four-character code of a box, brand or handler, ISO/IEC 14496-12 §4.2; usually ASCII letters.
public struct FourCharacterCode: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  /// The four bytes as a big-endian number.
  public let rawValue: UInt32

  /// Creates a code from a big-endian number.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// Creates a code from a literal; traps unless it has four bytes.
  public init(stringLiteral value: StaticString) {
    precondition(value.utf8CodeUnitCount == 4, "a code has four characters")
    self.rawValue = value.withUTF8Buffer { $0.reduce(0) { $0 << 8 | UInt32($1) } }
  }

  /// The four characters, with "?" for bytes other than printable ASCII.
  public var description: String {
    let bytes = withUnsafeBytes(of: self.rawValue.bigEndian, Array.init)
    return String(decoding: bytes.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }
}

extension ByteBuffer {
  /// Writes a box with the content that a closure writes, then patches its size.
  mutating func writeBox(_ type: FourCharacterCode, _ writeContent: (inout ByteBuffer) -> Void) {
    let start = self.writerIndex
    self.writeInteger(UInt32(0))
    self.writeInteger(type.rawValue)
    writeContent(&self)
    // No trap: a ByteBuffer is smaller than 4 GiB.
    self.setInteger(UInt32(self.writerIndex - start), at: start)
  }

  /// Writes a full box: a box that starts with version and flags.
  mutating func writeFullBox(
    _ type: FourCharacterCode, version: UInt8 = 0, flags: UInt32 = 0, _ writeContent: (inout ByteBuffer) -> Void
  ) {
    self.writeBox(type) {
      $0.writeInteger(UInt32(version) << 24 | flags)
      writeContent(&$0)
    }
  }

  /// Writes zero bytes for reserved fields.
  mutating func writeZeros(_ count: Int) {
    self.writeRepeatingByte(0, count: count)
  }

  /// Writes the unity matrix of movie and track headers: 16.16 numbers, the last column 2.30.
  mutating func writeUnityMatrix() {
    for value: UInt32 in [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000] { self.writeInteger(value) }
  }
}
