public import NIOCore

/// The NAL units of a sample in MP4's form ("AVCC"): each behind its length in 4 bytes, big-endian, ISO/IEC 14496-15
/// §5.3.4.2.1. It is the form of ``/Media/EncodedSample/payload``.
///
/// The elements are slices of the sample's memory, without the length. Empty NAL units are skipped.
public struct AVCCNALUnits: Sequence, Sendable {
  private let sample: ByteBuffer

  /// The NAL units of the readable bytes.
  ///
  /// - Throws: ``BitstreamError`` `.truncated` when a length reaches past the end; it is checked here, so that
  ///   iteration cannot fail.
  public init(parsing sample: ByteBuffer) throws(BitstreamError) {
    var rest = sample
    while rest.readableBytes > 0 {
      let offset = rest.readerIndex - sample.readerIndex
      guard let length = rest.readInteger(as: UInt32.self), Int(length) <= rest.readableBytes else {
        throw BitstreamError(.truncated, field: "NALUnitLength", offset: offset)
      }
      rest.moveReaderIndex(forwardBy: Int(length))
    }
    self.sample = sample
  }

  /// An iterator from the sample's start.
  public func makeIterator() -> Iterator {
    Iterator(rest: self.sample)
  }

  /// Walks from length to length.
  public struct Iterator: IteratorProtocol {
    fileprivate var rest: ByteBuffer

    /// The next NAL unit.
    public mutating func next() -> ByteBuffer? {
      while let length = self.rest.readInteger(as: UInt32.self) {
        if length > 0 { return self.rest.readSlice(length: Int(length)) }
      }
      return nil
    }
  }
}
