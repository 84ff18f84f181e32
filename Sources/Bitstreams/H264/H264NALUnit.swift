/// What a NAL unit holds: the lower five bits of its first byte, ITU-T H.264 table 7-1.
public struct H264NALUnitType: RawRepresentable, Hashable, Sendable {
  /// The number of the table, 0 to 31.
  public let rawValue: UInt8

  /// A type by its number; only the lower five bits count, so that a NAL unit's first byte may be given.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue & 0b0001_1111
  }

  /// A slice of a picture that is not an IDR picture.
  public static let nonIDRSlice = Self(rawValue: 1)
  /// A slice of an IDR picture: decoding can start here.
  public static let idrSlice = Self(rawValue: 5)
  /// Supplemental enhancement information.
  public static let supplementalEnhancementInformation = Self(rawValue: 6)
  /// A sequence parameter set.
  public static let sequenceParameterSet = Self(rawValue: 7)
  /// A picture parameter set.
  public static let pictureParameterSet = Self(rawValue: 8)
  /// An access unit delimiter.
  public static let accessUnitDelimiter = Self(rawValue: 9)
  /// The end of a coded video sequence.
  public static let endOfSequence = Self(rawValue: 10)
  /// The end of the stream.
  public static let endOfStream = Self(rawValue: 11)
  /// Bytes that only fill up a constant bit rate.
  public static let fillerData = Self(rawValue: 12)

  /// Whether it is a slice or the first partition of one, the NAL units that start with `first_mb_in_slice`.
  public var startsWithMacroblockAddress: Bool {
    self.rawValue == 1 || self.rawValue == 2 || self.rawValue == 5
  }

  /// Whether a sample's payload keeps it: neither a parameter set, delimiter or filler, nor one of the numbers that
  /// H.264 leaves unspecified (0 and 24 to 31) and RTP uses for packets of its own (RFC 6184 §5.2).
  public var isSampleData: Bool {
    switch self.rawValue {
    case 0, 7, 8, 9, 12, 24...31: false
    default: true
    }
  }
}

/// The bytes `03` that keep start codes out of a NAL unit's content, ITU-T H.264 §7.4.1.
enum H264EmulationPrevention {
  /// The raw byte sequence payload of a NAL unit: its bytes after the header byte, each `00 00 03` as `00 00`.
  ///
  /// For parameter sets, which are short; slices are passed on as they are.
  static func rawByteSequencePayload(of nalUnit: [UInt8]) -> [UInt8] {
    var payload: [UInt8] = []
    payload.reserveCapacity(nalUnit.count)
    var zeros = 0
    for byte in nalUnit.dropFirst() {
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      payload.append(byte)
    }
    return payload
  }
}
