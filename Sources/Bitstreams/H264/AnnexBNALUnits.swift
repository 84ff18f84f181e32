public import NIOCore

/// The NAL units of a byte stream, ITU-T H.264 Annex B: each behind a start code `00 00 01`, any number of zero bytes
/// between them.
///
/// Bytes before the first start code are skipped, and so are empty NAL units. The elements are slices of the stream's
/// memory, without start code and trailing zeros.
public struct AnnexBNALUnits: Sequence, Sendable {
  private let stream: ByteBuffer

  /// The NAL units of the readable bytes.
  public init(_ stream: ByteBuffer) {
    self.stream = stream
  }

  /// An iterator from the stream's start.
  public func makeIterator() -> Iterator {
    Iterator(self.stream)
  }

  /// Walks from start code to start code; each byte is looked at once.
  public struct Iterator: IteratorProtocol {
    private let stream: ByteBuffer
    /// The first byte of the next NAL unit, counted from the reader index; nil at the end.
    private var start: Int?

    init(_ stream: ByteBuffer) {
      self.stream = stream
      self.start = stream.withUnsafeReadableBytes { AnnexBNALUnits.startCode(in: $0, from: 0).map { $0 + 3 } }
    }

    /// The next NAL unit.
    public mutating func next() -> ByteBuffer? {
      while let start = self.start {
        let (end, next) = self.stream.withUnsafeReadableBytes { AnnexBNALUnits.nalUnit(in: $0, from: start) }
        self.start = next
        if end > start {
          return self.stream.getSlice(at: self.stream.readerIndex + start, length: end - start)
        }
      }
      return nil
    }
  }

  /// The end of the NAL unit that begins at `start`, without trailing zeros, and the start of the next one, if any.
  static func nalUnit(in bytes: UnsafeRawBufferPointer, from start: Int) -> (end: Int, next: Int?) {
    let code = Self.startCode(in: bytes, from: start)
    var end = code ?? bytes.count
    while end > start, bytes[end - 1] == 0 { end -= 1 }
    return (end, code.map { $0 + 3 })
  }

  /// The place of the next `00 00 01` at or after `from`.
  ///
  /// It looks at eight bytes at a time and closer only where one of them is zero, since a start code cannot begin
  /// elsewhere. In coded pictures that is one step in 32.
  static func startCode(in bytes: UnsafeRawBufferPointer, from: Int) -> Int? {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highBits: UInt64 = 0x8080_8080_8080_8080
    // The last place where a start code can begin.
    let last = bytes.count - 3
    var index = from
    while index <= last {
      var stop = last
      if index + 8 <= bytes.count {
        let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        guard (word &- ones) & ~word & highBits != 0 else {
          index += 8
          continue
        }
        stop = Swift.min(last, index + 7)
      }
      while index <= stop {
        if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 { return index }
        index += 1
      }
    }
    return nil
  }
}
