/// What an elementary stream holds: `stream_type`, ISO/IEC 13818-1 table 2-34.
public struct ProgramStreamType: RawRepresentable, Hashable, Sendable {
  /// The number of the table.
  public let rawValue: UInt8

  /// A type by its number.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// AAC in ADTS.
  public static let adtsAAC = Self(rawValue: 0x0F)
  /// Metadata in PES packets, here ID3.
  public static let metadata = Self(rawValue: 0x15)
  /// H.264 as a byte stream.
  public static let h264 = Self(rawValue: 0x1B)
}
