/// NAL unit type: the lower five bits of the first byte, ITU-T H.264 table 7-1.
public struct H264NALUnitType: RawRepresentable, Hashable, Sendable {
  /// `nal_unit_type`, 0 to 31.
  public let rawValue: UInt8

  /// Creates a type from a number or from the first byte of a NAL unit: only the lower five bits count.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue & 0b0001_1111
  }

  /// Slice of a frame other than an IDR picture.
  public static let nonIDRSlice = Self(rawValue: 1)
  /// Slice of an IDR picture: decoding can start here.
  public static let idrSlice = Self(rawValue: 5)
  /// Supplemental enhancement information (SEI), §7.3.2.3: data that decoding does not need, such as captions.
  public static let supplementalEnhancementInformation = Self(rawValue: 6)
  /// Sequence parameter set (SPS), §7.3.2.1; see ``H264SequenceParameterSet``.
  public static let sequenceParameterSet = Self(rawValue: 7)
  /// Picture parameter set (PPS), §7.3.2.2; see ``H264PictureParameterSet``.
  public static let pictureParameterSet = Self(rawValue: 8)
  /// Access unit delimiter (AUD), §7.3.2.4: where it is present, the first NAL unit of an access unit.
  public static let accessUnitDelimiter = Self(rawValue: 9)
  /// End of a coded video sequence: an IDR picture follows.
  public static let endOfSequence = Self(rawValue: 10)
  /// End of the stream, §7.3.2.6: no NAL unit follows in the bitstream.
  public static let endOfStream = Self(rawValue: 11)
  /// Filler data of a constant bitrate.
  public static let fillerData = Self(rawValue: 12)

  /// Whether the NAL unit is a slice or the first partition of one, which start with `first_mb_in_slice`.
  public var startsWithMacroblockAddress: Bool {
    self.rawValue == 1 || self.rawValue == 2 || self.rawValue == 5
  }

  /// Whether the NAL unit is part of a sample's payload: no parameter set, delimiter or filler, and no unspecified type
  /// (0 and 24 to 31), some of which are packets in RTP (RFC 6184 §5.2).
  public var isSampleData: Bool {
    switch self.rawValue {
    case 0, 7, 8, 9, 12, 24...31: false
    default: true
    }
  }
}

/// Removal of emulation prevention bytes `03`, ITU-T H.264 §7.4.1.
enum H264EmulationPrevention {
  /// Raw byte sequence payload (RBSP) of a NAL unit: the bytes after the header byte, with `00 00 03` replaced by `00 00`.
  ///
  /// Used for parameter sets and messages only; slices are never parsed.
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
