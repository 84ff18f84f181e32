public import Media
public import NIOCore

/// One coded picture, taken apart for ``/Media/EncodedSample``: what belongs to the sample, and the parameter sets that
/// belong to the track's description.
public struct H264AccessUnit: Hashable, Sendable {
  /// The NAL units of slices and supplemental information, each behind its length in 4 bytes, in their order.
  public var payload: ByteBuffer
  /// The sequence parameter sets, without start code or length; slices of the memory they came in.
  public var sequenceParameterSets: [ByteBuffer]
  /// The picture parameter sets, without start code or length; slices of the memory they came in.
  public var pictureParameterSets: [ByteBuffer]
  /// Whether a slice of an IDR picture is among the NAL units.
  public var isKeyframe: Bool

  /// An access unit without NAL units.
  public init() {
    self.payload = ByteBuffer()
    self.sequenceParameterSets = []
    self.pictureParameterSets = []
    self.isKeyframe = false
  }

  /// Takes apart an access unit as encoders write it, with start codes (ITU-T H.264 Annex B).
  ///
  /// Delimiters, filler and NAL units of unspecified types are left out. The bytes of the payload are copied once, into
  /// memory of the exact size.
  public init(parsingAnnexB stream: ByteBuffer) {
    self.init()
    self.append(AnnexBNALUnits(stream))
  }

  /// Takes apart an access unit with start codes (ITU-T H.264 Annex B) in memory of an encoder.
  ///
  /// Equals ``init(parsingAnnexB:)-(ByteBuffer)`` without the copy into a `ByteBuffer` first: each byte of the payload is
  /// copied once, into memory of the exact size. Parameter sets are copied.
  public init(parsingAnnexB bytes: UnsafeRawBufferPointer) {
    self.init()
    var kept: [Range<Int>] = []
    var start = AnnexBNALUnits.startCode(in: bytes, from: 0).map { $0 + 3 }
    while let first = start {
      let (end, next) = AnnexBNALUnits.nalUnit(in: bytes, from: first)
      start = next
      guard end > first else { continue }
      let type = H264NALUnitType(rawValue: bytes[first])
      self.note(type) { ByteBuffer(bytes: bytes[first..<end]) }
      if type.isSampleData { kept.append(first..<end) }
    }
    self.payload.reserveCapacity(kept.reduce(0) { $0 + 4 + $1.count })
    for range in kept {
      // No trap: an encoder's packet is smaller than 2 GiB.
      self.payload.writeInteger(UInt32(range.count))
      self.payload.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[range]))
    }
  }

  /// Takes apart an access unit whose NAL units stand behind lengths, such as a sample of an MP4 file with parameter sets
  /// in it.
  ///
  /// - Parameter lengthSize: The bytes of a length, 1 to 4.
  /// - Throws: ``ParsingError`` `.truncated` when a length reaches past the end.
  public init(parsingAVCC sample: ByteBuffer, lengthSize: Int = 4) throws(ParsingError) {
    self.init()
    self.append(try AVCCNALUnits(parsing: sample, lengthSize: lengthSize))
  }

  private mutating func append(_ nalUnits: some Sequence<ByteBuffer>) {
    let kept = nalUnits.filter { self.handleHeader(of: $0) }
    self.payload.reserveCapacity(kept.reduce(0) { $0 + 4 + $1.readableBytes })
    for nalUnit in kept {
      // No trap: a ByteBuffer holds less than 4 GiB.
      self.payload.writeInteger(UInt32(nalUnit.readableBytes))
      self.payload.writeImmutableBuffer(nalUnit)
    }
  }

  /// Notes what a NAL unit means for the access unit, and keeps it when it is a parameter set.
  ///
  /// - Returns: Whether the NAL unit belongs to the payload; writing it there is left to the caller.
  private mutating func handleHeader(of nalUnit: ByteBuffer) -> Bool {
    guard let header = nalUnit.getInteger(at: nalUnit.readerIndex, as: UInt8.self) else { return false }
    let type = H264NALUnitType(rawValue: header)
    self.note(type) { nalUnit }
    return type.isSampleData
  }

  /// - Parameter nalUnit: Returns the NAL unit; called for parameter sets only.
  private mutating func note(_ type: H264NALUnitType, _ nalUnit: () -> ByteBuffer) {
    switch type {
    case .sequenceParameterSet: self.sequenceParameterSets.append(nalUnit())
    case .pictureParameterSet: self.pictureParameterSets.append(nalUnit())
    case .idrSlice: self.isKeyframe = true
    default: break
    }
  }
}
