public import Media
public import NIOCore

/// Walks over the boxes of a file that is not in memory, one behind the other, without looking into them.
///
/// ``read`` is called for the headers only.
public struct MP4FileWalker {
  /// Where a box lies in the file.
  public struct Box: Hashable, Sendable {
    /// The type.
    public var type: FourCharacterCode
    /// The first byte of the header.
    public var start: UInt64
    /// What is behind the header.
    public var content: Range<UInt64>
  }

  /// Reads bytes at an offset of the file; nil when they cannot be read.
  public typealias Read = (_ offset: UInt64, _ count: Int) -> ByteBuffer?

  private let length: UInt64
  private let read: Read
  private var offset: UInt64 = 0
  /// The longest header: a size of 64 bits and a user type.
  private static let headerLength: UInt64 = 32

  /// A walk from the start of a file of a length.
  public init(length: UInt64, read: @escaping Read) {
    self.length = length
    self.read = read
  }

  /// The next box that is there as a whole; nil at the end of the file.
  ///
  /// - Throws: ``ParsingError``: `.truncated` when the file ends within the box or cannot be read, `.invalid` for a
  ///   size that is less than the header's.
  public mutating func next() throws(ParsingError) -> Box? {
    let left = self.length - self.offset
    guard left > 0 else { return nil }
    let truncated = ParsingError(.truncated, field: "box", offset: Int(clamping: self.offset))
    guard var bytes = self.read(self.offset, Int(min(left, Self.headerLength))),
      let header = try MP4BoxHeader(parsing: &bytes)
    else { throw truncated }
    let headerLength = UInt64(header.length)
    let contentLength = header.contentLength ?? (left - headerLength)
    guard contentLength <= left - headerLength else { throw truncated }
    let content = self.offset + headerLength..<self.offset + headerLength + contentLength
    defer { self.offset = content.upperBound }
    return Box(type: header.type, start: self.offset, content: content)
  }
}
