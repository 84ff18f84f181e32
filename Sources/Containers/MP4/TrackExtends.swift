public import Media
public import NIOCore

/// What holds for the samples of a track's fragments that do not say otherwise: the `trex` box, ISO/IEC 14496-12
/// §8.8.3.
public struct TrackExtends: Hashable, Sendable {
  /// `track_ID`, at least 1.
  public var trackID: UInt32
  /// In ticks of the track's timescale.
  public var defaultDuration: UInt32
  /// In bytes.
  public var defaultSize: UInt32
  /// Of a sample that has none of its own.
  public var defaultFlags: SampleFlags

  /// Defaults.
  public init(trackID: UInt32, defaultDuration: UInt32, defaultSize: UInt32 = 0, defaultFlags: SampleFlags) {
    self.trackID = trackID
    self.defaultDuration = defaultDuration
    self.defaultSize = defaultSize
    self.defaultFlags = defaultFlags
  }

  /// Parses a `trex` box.
  ///
  /// - Throws: ``ParsingError`` `.truncated`.
  public init(parsing box: MP4Box) throws(ParsingError) {
    var content = try box.full().content
    guard
      let (trackID, _, duration, size, flags) = content.readMultipleIntegers(
        as: (UInt32, UInt32, UInt32, UInt32, UInt32).self)
    else { throw ParsingError(.truncated, field: "trex", offset: box.offset) }
    self.init(
      trackID: trackID, defaultDuration: duration, defaultSize: size, defaultFlags: SampleFlags(rawValue: flags))
  }

  /// Appends the box.
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
