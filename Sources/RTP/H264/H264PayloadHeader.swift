/// The bits of the first two bytes of an H.264 payload, RFC 6184 §5.3, §5.8.
enum H264PayloadHeader {
  /// F and NRI of the first byte: forbidden_zero_bit and nal_ref_idc.
  static let nalRefIDCMask: UInt8 = 0b1110_0000
  /// The type in the first byte, and in the FU header.
  static let typeMask: UInt8 = 0b0001_1111

  /// STAP-A: several NAL units of the same time, each with a 16-bit length, §5.7.1.
  static let singleTimeAggregationPacketA: UInt8 = 24
  /// FU-A: a fragment of a NAL unit, §5.8.
  static let fragmentationUnitA: UInt8 = 28

  /// S in the FU header: the first fragment.
  static let fragmentStart: UInt8 = 0b1000_0000
  /// E in the FU header: the last fragment.
  static let fragmentEnd: UInt8 = 0b0100_0000
}
