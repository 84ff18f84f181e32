public import Media
public import NIOCore

/// Copy of the boxes before the first fragment of a recording, with a checksum: without the tracks' parameters in `moov`
/// no sample can be decoded, so they are in the file twice, at least one fragment apart.
///
/// A `uuid` box behind the first fragment, which players skip:
///
/// | bytes | field |
/// |-------|-------|
/// | 16    | usertype: "vidicon.headcopy" |
/// | 4     | CRC-32 of the following bytes, as in ISO/IEC 13818-1 Annex A |
/// | n     | bytes of the file before its first fragment |
public struct HeadCopy: Hashable, Sendable {
  /// The boxes before the first fragment.
  public var head: ByteBuffer

  private static let userType = Array("vidicon.headcopy".utf8)
  /// Maximum length of a head; with a title of some thousand characters it has less.
  static let maximumLength = 1 << 18
  /// Length of the box without the head: size, type, usertype, CRC.
  private static let overhead = 8 + 16 + 4
  /// Bytes per read while searching.
  private static let searchLength = 1 << 20

  /// - Parameter head: The bytes of a file before its first fragment.
  public init(_ head: ByteBuffer) {
    self.head = head
  }

  /// Appends the box; nothing for a head that is too long to be found again.
  public func serialize(into buffer: inout ByteBuffer) {
    guard self.head.readableBytes <= Self.maximumLength else { return }
    buffer.writeBox("uuid") {
      $0.writeBytes(Self.userType)
      $0.writeInteger(self.head.withUnsafeReadableBytes(SectionCRC.checksum))
      $0.writeImmutableBuffer(self.head)
    }
  }

  /// Parses the content of the box, its usertype included.
  ///
  /// - Throws: `.missing` for another usertype, `.tooLarge`, `.truncated`, and `.invalid` when the checksum differs.
  public init(parsing content: ByteBuffer) throws(ParsingError) {
    var content = content
    guard content.readBytes(length: Self.userType.count) == Self.userType else {
      throw ParsingError(.missing, field: "usertype")
    }
    guard let checksum = content.readInteger(as: UInt32.self) else { throw ParsingError(.truncated, field: "CRC_32") }
    guard content.readableBytes <= Self.maximumLength else { throw ParsingError(.tooLarge, field: "head") }
    guard content.withUnsafeReadableBytes(SectionCRC.checksum) == checksum else {
      throw ParsingError(.invalid, field: "CRC_32")
    }
    self.head = content
  }

  /// Reads the copy that a box of a file contains; nil for other boxes and damaged copies.
  init?(of box: MP4FileWalker.Box, read: MP4FileWalker.Read) {
    guard box.type == "uuid", box.content.lowerBound >= box.start + UInt64(Self.userType.count),
      case let start = box.content.lowerBound - UInt64(Self.userType.count),
      box.content.upperBound - start <= UInt64(Self.overhead + Self.maximumLength),
      let content = read(start, Int(box.content.upperBound - start)), let copy = try? Self(parsing: content)
    else { return nil }
    self = copy
  }

  /// Searches a file for a whole copy.
  ///
  /// - Parameters:
  ///   - length: Length of the file in bytes.
  ///   - read: Reads at most 1 MiB per call; nil on failure, which ends the search.
  public static func find(length: UInt64, read: @escaping MP4FileWalker.Read) -> HeadCopy? {
    var offset: UInt64 = 0
    while offset + UInt64(Self.overhead) <= length {
      guard let bytes = read(offset, Int(min(UInt64(Self.searchLength), length - offset))),
        bytes.readableBytes >= Self.overhead
      else { return nil }
      for index in Self.userTypes(in: bytes) where offset + UInt64(index) >= 8 {
        var walker = MP4FileWalker(length: length, from: offset + UInt64(index) - 8, read: read)
        if let box = try? walker.next(), let copy = Self(of: box, read: read) { return copy }
      }
      // A usertype may lie on the boundary.
      offset += UInt64(bytes.readableBytes - (Self.userType.count - 1))
    }
    return nil
  }

  /// Offsets of the usertype in bytes.
  private static func userTypes(in bytes: ByteBuffer) -> [Int] {
    bytes.withUnsafeReadableBytes { bytes in
      guard bytes.count >= self.userType.count else { return [] }
      return (0...bytes.count - self.userType.count).filter { index in
        bytes[index] == self.userType[0] && bytes[index...].starts(with: self.userType)
      }
    }
  }

  /// The range of bytes in which a file's head differs from its copy; nil when it does not.
  ///
  /// The content of the first `free` box is not compared: a size is written there before a file is finished in place.
  ///
  /// - Parameters:
  ///   - head: The copy.
  ///   - bytes: As many bytes of the file; what is missing differs.
  public static func difference(_ head: ByteBuffer, _ bytes: ByteBuffer) -> Range<Int>? {
    var reserve = 0..<0
    var walker = MP4FileWalker(length: UInt64(head.readableBytes)) { offset, count in
      head.getSlice(at: head.readerIndex + Int(offset), length: min(count, head.readableBytes - Int(offset)))
    }
    if (try? walker.next())?.type == "ftyp", let box = try? walker.next(), box.type == "free" {
      reserve = Int(box.content.lowerBound)..<Int(box.content.upperBound)
    }
    let (head, bytes) = (Array(buffer: head), Array(buffer: bytes))
    let differing = (0..<head.count).filter { index in
      !reserve.contains(index) && (index >= bytes.count || head[index] != bytes[index])
    }
    guard let first = differing.first, let last = differing.last else { return nil }
    return first..<last + 1
  }
}
