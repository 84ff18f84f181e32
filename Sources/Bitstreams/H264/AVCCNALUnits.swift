public import Media
public import NIOCore

/// The NAL units of a sample in MP4's form ("AVCC"): each behind its length, big-endian, ISO/IEC 14496-15 §5.3.4.2.1. With
/// lengths of 4 bytes it is the form of ``/Media/EncodedSample/payload``.
///
/// The elements are slices of the sample's memory, without the length. Empty NAL units are skipped.
public struct AVCCNALUnits: Sequence, Sendable {
  private let sample: ByteBuffer
  private let lengthSize: Int

  /// The NAL units of the readable bytes.
  ///
  /// - Parameter lengthSize: The bytes of a length, 1 to 4; another one is taken for the nearest of these.
  /// - Throws: ``ParsingError`` `.truncated` when a length reaches past the end; it is checked here, so that
  ///   iteration cannot fail.
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

  /// An iterator from the sample's start.
  public func makeIterator() -> Iterator {
    Iterator(rest: self.sample, lengthSize: self.lengthSize)
  }

  /// Walks from length to length.
  public struct Iterator: IteratorProtocol {
    fileprivate var rest: ByteBuffer
    fileprivate let lengthSize: Int

    /// The next NAL unit.
    public mutating func next() -> ByteBuffer? {
      while let length = self.rest.readLength(of: self.lengthSize) {
        if length > 0 { return self.rest.readSlice(length: length) }
      }
      return nil
    }
  }
}

extension ByteBuffer {
  /// An unsigned number of 1 to 4 bytes.
  fileprivate mutating func readLength(of byteCount: Int) -> Int? {
    guard byteCount < 4 else { return self.readInteger(as: UInt32.self).map(Int.init) }
    return self.readBytes(length: byteCount)?.reduce(0) { $0 << 8 | Int($1) }
  }
}
