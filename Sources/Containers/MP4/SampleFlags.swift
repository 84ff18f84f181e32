/// What is told of a sample beside its time and size, ISO/IEC 14496-12 §8.8.3.1.
///
/// | bits | field |
/// |------|-------|
/// | 4, 2 | reserved, is_leading |
/// | 2    | sample_depends_on: 1 on others, 2 on none |
/// | 2, 2 | sample_is_depended_on, sample_has_redundancy: 0, unknown |
/// | 3    | sample_padding_value |
/// | 1    | sample_is_non_sync_sample |
/// | 16   | sample_degradation_priority |
public struct SampleFlags: RawRepresentable, Hashable, Sendable {
  /// The bits.
  public let rawValue: UInt32

  /// Flags from their bits.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// A sample that depends on no other: decoding can start here.
  public static let sync = Self(rawValue: 0x0200_0000)
  /// A sample that depends on others.
  public static let nonSync = Self(rawValue: 0x0101_0000)

  /// Whether decoding can start here.
  public var isSync: Bool {
    self.rawValue & 0x0001_0000 == 0
  }
}
