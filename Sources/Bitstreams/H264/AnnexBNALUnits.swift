public import NIOCore

/// NAL units of a byte stream, ITU-T H.264 Annex B: each follows a start code `00 00 01`; zero bytes may separate them.
///
/// Bytes before the first start code and empty NAL units are skipped. The elements are slices of the stream, without
/// start code and trailing zeros.
public struct AnnexBNALUnits: Sequence, Sendable {
  private let stream: ByteBuffer

  /// Creates a sequence over the readable bytes; any bytes are accepted.
  public init(_ stream: ByteBuffer) {
    self.stream = stream
  }

  /// Returns an iterator over the NAL units, in order.
  public func makeIterator() -> Iterator {
    Iterator(self.stream)
  }

  /// Iterates over the NAL units of a stream; scans each byte once.
  public struct Iterator: IteratorProtocol {
    private let stream: ByteBuffer
    /// Offset of the next NAL unit from the reader index; nil at the end.
    private var start: Int?

    init(_ stream: ByteBuffer) {
      self.stream = stream
      self.start = stream.withUnsafeReadableBytes { AnnexBNALUnits.startCode(in: $0, from: 0).map { $0 + 3 } }
    }

    /// Returns the next NAL unit that is not empty.
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

  /// Offset of the next `00 00 01` at or after `from`.
  ///
  /// Scans eight bytes at a time, and single bytes only where one of the eight is zero: about one word in 32 of
  /// compressed data.
  static func startCode(in bytes: UnsafeRawBufferPointer, from: Int) -> Int? {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highBits: UInt64 = 0x8080_8080_8080_8080
    // Last offset at which a start code can begin.
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
