public import Media
public import NIOCore

/// NAL units of one access unit, separated into the payload of an ``/Media/EncodedSample`` and the parameter sets of the
/// track's ``/Media/H264Description``.
public struct H264AccessUnit: Hashable, Sendable {
  /// Slices and supplemental enhancement information in stream order, each NAL unit preceded by its length in 4 bytes.
  public var payload: ByteBuffer
  /// Sequence parameter sets, without start code or length; slices of the input.
  public var sequenceParameterSets: [ByteBuffer]
  /// Picture parameter sets, without start code or length; slices of the input.
  public var pictureParameterSets: [ByteBuffer]
  /// Whether the access unit contains an IDR slice.
  public var isKeyframe: Bool

  /// Creates an access unit without NAL units.
  public init() {
    self.payload = ByteBuffer()
    self.sequenceParameterSets = []
    self.pictureParameterSets = []
    self.isKeyframe = false
  }

  /// Parses an access unit with start codes (ITU-T H.264 Annex B), as encoders write it; any bytes are accepted.
  ///
  /// Delimiters, filler and NAL units of unspecified types are left out. The payload is copied once, into memory of the
  /// exact size.
  public init(parsingAnnexB stream: ByteBuffer) {
    self.init()
    self.append(AnnexBNALUnits(stream))
  }

  /// Parses an access unit with start codes (ITU-T H.264 Annex B) in memory of an encoder.
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

  /// Parses an access unit with length prefixes, such as an MP4 sample with in-band parameter sets.
  ///
  /// The payload is the sample itself, without a copy, where no NAL unit is left out and lengths have 4 bytes.
  ///
  /// - Parameter lengthSize: Bytes of a length field, 1 to 4.
  /// - Throws: `.truncated` when a length reaches past the end.
  public init(parsingAVCC sample: ByteBuffer, lengthSize: Int = 4) throws(ParsingError) {
    self.init()
    let nalUnits = try AVCCNALUnits(parsing: sample, lengthSize: lengthSize)
    self.append(nalUnits, of: lengthSize == 4 ? sample : nil)
  }

  /// - Parameter sample: The bytes of the NAL units where these are as in a payload.
  private mutating func append(_ nalUnits: some Sequence<ByteBuffer>, of sample: ByteBuffer? = nil) {
    let kept = nalUnits.filter { self.handleHeader(of: $0) }
    let byteCount = kept.reduce(0) { $0 + 4 + $1.readableBytes }
    if let sample, sample.readableBytes == byteCount {
      self.payload = sample
      return
    }
    self.payload.reserveCapacity(byteCount)
    for nalUnit in kept {
      // No trap: a ByteBuffer holds less than 4 GiB.
      self.payload.writeInteger(UInt32(nalUnit.readableBytes))
      self.payload.writeImmutableBuffer(nalUnit)
    }
  }

  /// Stores a parameter set, detects a keyframe.
  ///
  /// - Returns: Whether the caller appends the NAL unit to the payload.
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
