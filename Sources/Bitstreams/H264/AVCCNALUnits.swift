public import Media
public import NIOCore

/// NAL units of a sample in length-prefixed ("AVCC") format, ISO/IEC 14496-15 §5.3.4.2.1: each is preceded by its
/// big-endian length. Lengths of 4 bytes are the format of ``/Media/EncodedSample/payload``.
///
/// The elements are slices of the sample, without the length. Empty NAL units are skipped.
public struct AVCCNALUnits: Sequence, Sendable {
  private let sample: ByteBuffer
  private let lengthSize: Int

  /// Checks all lengths of the readable bytes, so that iteration cannot fail.
  ///
  /// - Parameter lengthSize: Bytes of a length field, clamped to 1 to 4.
  /// - Throws: `.truncated` when a length reaches past the end.
  public init(parsing sample: ByteBuffer, lengthSize: Int = 4) throws(ParsingError) {
    let lengthSize = Swift.min(Swift.max(lengthSize, 1), 4)
    var rest = sample
    while rest.readableBytes > 0 {
      let offset = rest.readerIndex - sample.readerIndex
      guard let length = rest.readLength(of: lengthSize), length <= rest.readableBytes else {
        throw ParsingError(.truncated, field: "NALUnitLength", offset: offset)
      }
      rest.moveReaderIndex(forwardBy: length)
    }
    self.sample = sample
    self.lengthSize = lengthSize
  }

  /// Returns an iterator over the NAL units, in order.
  public func makeIterator() -> Iterator {
    Iterator(rest: self.sample, lengthSize: self.lengthSize)
  }

  /// Iterates over the NAL units of a sample.
  public struct Iterator: IteratorProtocol {
    fileprivate var rest: ByteBuffer
    fileprivate let lengthSize: Int

    /// Returns the next NAL unit that is not empty.
    public mutating func next() -> ByteBuffer? {
      while let length = self.rest.readLength(of: self.lengthSize) {
        if length > 0 { return self.rest.readSlice(length: length) }
      }
      return nil
    }
  }
}

extension ByteBuffer {
  /// Reads an unsigned big-endian number of 1 to 4 bytes.
  fileprivate mutating func readLength(of byteCount: Int) -> Int? {
    guard byteCount < 4 else { return self.readInteger(as: UInt32.self).map(Int.init) }
    return self.readBytes(length: byteCount)?.reduce(0) { $0 << 8 | Int($1) }
  }
}
