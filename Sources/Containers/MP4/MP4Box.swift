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

/// Four bytes that name a box, a brand or a handler, ISO/IEC 14496-12 §4.2: as a rule ASCII letters.
public struct FourCharacterCode: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  /// The bytes as a number, the first one highest.
  public let rawValue: UInt32

  /// A code from four bytes.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// A code from a literal of four ASCII characters; any other literal is a programmer's error and traps.
  public init(stringLiteral value: StaticString) {
    precondition(value.utf8CodeUnitCount == 4, "a code has four characters")
    self.rawValue = value.withUTF8Buffer { $0.reduce(0) { $0 << 8 | UInt32($1) } }
  }

  /// The four characters; those outside of printable ASCII as "?".
  public var description: String {
    let bytes = withUnsafeBytes(of: self.rawValue.bigEndian, Array.init)
    return String(decoding: bytes.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }
}

extension ByteBuffer {
  /// Writes a box: its size, which is filled in afterwards, its type, and what a closure writes.
  mutating func writeBox(_ type: FourCharacterCode, _ writeContent: (inout ByteBuffer) -> Void) {
    let start = self.writerIndex
    self.writeInteger(UInt32(0))
    self.writeInteger(type.rawValue)
    writeContent(&self)
    // No trap: a ByteBuffer holds less than 4 GiB.
    self.setInteger(UInt32(self.writerIndex - start), at: start)
  }

  /// Writes a box with version and flags, a "full box".
  mutating func writeFullBox(
    _ type: FourCharacterCode, version: UInt8 = 0, flags: UInt32 = 0, _ writeContent: (inout ByteBuffer) -> Void
  ) {
    self.writeBox(type) {
      $0.writeInteger(UInt32(version) << 24 | flags)
      writeContent(&$0)
    }
  }

  /// Writes zeros of reserved fields.
  mutating func writeZeros(_ count: Int) {
    self.writeRepeatingByte(0, count: count)
  }

  /// Writes the matrix that changes nothing, as movie and tracks have it: 16.16 numbers, the last column 2.30.
  mutating func writeUnityMatrix() {
    for value: UInt32 in [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000] { self.writeInteger(value) }
  }
}
