public import Media
public import NIOCore

/// Sample defaults of a track's fragments: the `trex` box, ISO/IEC 14496-12 §8.8.3.
public struct TrackExtends: Hashable, Sendable {
  /// `track_ID` of the track that the defaults apply to, at least 1.
  public var trackID: UInt32
  /// `default_sample_duration`, in ticks of the track's timescale.
  public var defaultDuration: UInt32
  /// `default_sample_size`, in bytes; by default 0, since ``TrackFragment`` writes the size of each sample.
  public var defaultSize: UInt32
  /// `default_sample_flags`, for samples whose fragment has no flags.
  public var defaultFlags: SampleFlags

  /// Creates the defaults of a track; durations are in ticks of its timescale.
  public init(trackID: UInt32, defaultDuration: UInt32, defaultSize: UInt32 = 0, defaultFlags: SampleFlags) {
    self.trackID = trackID
    self.defaultDuration = defaultDuration
    self.defaultSize = defaultSize
    self.defaultFlags = defaultFlags
  }

  /// Parses a `trex` box.
  ///
  /// - Throws: `.truncated`.
  public init(parsing box: MP4Box) throws(ParsingError) {
    var content = try box.full().content
    guard
      let (trackID, _, duration, size, flags) = content.readMultipleIntegers(
        as: (UInt32, UInt32, UInt32, UInt32, UInt32).self)
    else { throw ParsingError(.truncated, field: "trex", offset: box.offset) }
    self.init(
      trackID: trackID, defaultDuration: duration, defaultSize: size, defaultFlags: SampleFlags(rawValue: flags))
  }

  /// Appends the box, with default_sample_description_index 1.
  public func serialize(into buffer: inout ByteBuffer) {
    buffer.writeFullBox("trex") {
      $0.writeInteger(self.trackID)
      $0.writeInteger(UInt32(1))  // default_sample_description_index
      $0.writeInteger(self.defaultDuration)
      $0.writeInteger(self.defaultSize)
      $0.writeInteger(self.defaultFlags.rawValue)
    }
  }
}

/// Dependency flags of a sample, ISO/IEC 14496-12 §8.8.3.1.
///
/// | bits | field |
/// |------|-------|
/// | 4, 2 | reserved, is_leading |
/// | 2    | sample_depends_on: 1 depends on others, 2 independent |
/// | 2, 2 | sample_is_depended_on, sample_has_redundancy: 0, unknown |
/// | 3    | sample_padding_value |
/// | 1    | sample_is_non_sync_sample |
/// | 16   | sample_degradation_priority |
public struct SampleFlags: RawRepresentable, Hashable, Sendable {
  /// The 32 bits of the table.
  public let rawValue: UInt32

  /// Creates flags from the 32 bits of the table.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// Sync sample: depends on no other, decoding can start here.
  public static let sync = Self(rawValue: 0x0200_0000)
  /// Non-sync sample: depends on others, decoding cannot start here.
  public static let nonSync = Self(rawValue: 0x0101_0000)

  /// Whether the sample is a sync sample: decoding can start here.
  public var isSync: Bool {
    self.rawValue & 0x0001_0000 == 0
  }
}
