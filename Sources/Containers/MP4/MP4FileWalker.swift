public import Media
public import NIOCore

/// Iterates over the top-level boxes of a file that is not in memory; reads the box headers only.
public struct MP4FileWalker {
  /// Position of a box in the file.
  public struct Box: Hashable, Sendable {
    /// Box type, such as `moov` or `mdat`.
    public var type: FourCharacterCode
    /// Offset of the header from the start of the file, in bytes.
    public var start: UInt64
    /// Offsets of the bytes after the header, from the start of the file.
    public var content: Range<UInt64>
  }

  /// Reads bytes at an offset of the file; nil when they cannot be read.
  public typealias Read = (_ offset: UInt64, _ count: Int) -> ByteBuffer?

  private let length: UInt64
  private let read: Read
  private var offset: UInt64
  /// Maximum header length in bytes: 8 + largesize 8 + usertype 16.
  private static let headerLength: UInt64 = 32

  /// Creates a walker.
  ///
  /// - Parameters:
  ///   - length: Length of the file in bytes.
  ///   - offset: Offset of the first box, at most `length`.
  ///   - read: Reads at most 32 bytes per call.
  public init(length: UInt64, from offset: UInt64 = 0, read: @escaping Read) {
    self.length = length
    self.offset = min(offset, length)
    self.read = read
  }

  /// Returns the next complete box; nil at the end of the file.
  ///
  /// - Throws: `.truncated` when the file ends within the box or cannot be read, `.invalid` for a size smaller than the
  ///   header.
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
