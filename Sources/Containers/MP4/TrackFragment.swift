public import NIOCore

/// Sample table of one track in a fragment: the `traf` box, ISO/IEC 14496-12 §8.8.6, with one run.
///
/// ```
/// traf ─┬─ tfhd  track_ID; data offsets count from the start of the moof (default-base-is-moof)
///       ├─ tfdt  version 1: the decoding time of the first sample
///       └─ trun  per sample, the fields that differ from the track's defaults
/// ```
public struct TrackFragment: Hashable, Sendable {
  /// One sample of a run: an entry of the `trun` box, ISO/IEC 14496-12 §8.8.8.
  public struct Sample: Hashable, Sendable {
    /// Ticks of the track's timescale until the next decoding time.
    public var duration: UInt32
    /// Length of the sample's data in the `mdat` box, in bytes.
    public var size: UInt32
    /// Dependency flags: whether the sample is a sync sample, where decoding can start.
    public var flags: SampleFlags
    /// Ticks of the track's timescale from decoding to presentation; may be negative.
    public var compositionOffset: Int32

    /// Creates a sample; durations are in ticks of the track's timescale.
    public init(duration: UInt32, size: UInt32, flags: SampleFlags, compositionOffset: Int32 = 0) {
      self.duration = duration
      self.size = size
      self.flags = flags
      self.compositionOffset = compositionOffset
    }
  }

  /// `track_ID` of the `tfhd` box, at least 1.
  public var trackID: UInt32
  /// `baseMediaDecodeTime`: decoding time of the first sample, in ticks of the track's timescale.
  public var baseDecodeTime: UInt64
  /// Samples of the run, in decoding order; ``baseDecodeTime`` is that of the first one.
  public var samples: [Sample]
  /// `data_offset`: offset of the first sample's bytes from the start of the `moof`; the others follow without gaps.
  public var dataOffset: Int32

  /// Creates a run of samples whose first one has `baseDecodeTime`, in ticks of the track's timescale.
  public init(trackID: UInt32, baseDecodeTime: UInt64, samples: [Sample], dataOffset: Int32 = 0) {
    self.trackID = trackID
    self.baseDecodeTime = baseDecodeTime
    self.samples = samples
    self.dataOffset = dataOffset
  }

  /// Appends the box with the data offset as it is.
  ///
  /// - Parameter defaults: The track's `trex` box; values equal to it are not repeated.
  public func serialize(into buffer: inout ByteBuffer, defaults: TrackExtends) {
    _ = self.write(to: &buffer, defaults: defaults)
  }

  /// Appends the box.
  ///
  /// - Returns: Index of the 4 bytes of `data_offset`, for ``MovieFragment`` to patch.
  func write(to buffer: inout ByteBuffer, defaults: TrackExtends) -> Int {
    let run = TrackRunFlags(self.samples, defaults: defaults)
    var offsetIndex = 0
    buffer.writeBox("traf") {
      $0.writeFullBox("tfhd", flags: TrackRunFlags.defaultBaseIsMoof) { $0.writeInteger(self.trackID) }
      $0.writeFullBox("tfdt", version: 1) { $0.writeInteger(self.baseDecodeTime) }
      $0.writeFullBox("trun", version: 1, flags: run.rawValue) {
        // No trap: each sample occupies memory, so there are fewer than 2³².
        $0.writeInteger(UInt32(self.samples.count))
        offsetIndex = $0.writerIndex
        $0.writeInteger(self.dataOffset)
        if run.contains(.firstFlags) { $0.writeInteger(self.samples[0].flags.rawValue) }
        for sample in self.samples {
          if run.contains(.duration) { $0.writeInteger(sample.duration) }
          if run.contains(.size) { $0.writeInteger(sample.size) }
          if run.contains(.flags) { $0.writeInteger(sample.flags.rawValue) }
          if run.contains(.compositionOffset) { $0.writeInteger(sample.compositionOffset) }
        }
      }
    }
    return offsetIndex
  }
}

/// Flags of the `trun` box: the fields that are present, ISO/IEC 14496-12 §8.8.8.
struct TrackRunFlags: OptionSet {
  let rawValue: UInt32

  static let dataOffset = Self(rawValue: 0x000001)
  static let firstFlags = Self(rawValue: 0x000004)
  static let duration = Self(rawValue: 0x000100)
  static let size = Self(rawValue: 0x000200)
  static let flags = Self(rawValue: 0x000400)
  static let compositionOffset = Self(rawValue: 0x000800)

  /// Flag of `tfhd`, §8.8.7.1: data offsets count from the start of the `moof`.
  static let defaultBaseIsMoof: UInt32 = 0x020000

  init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// The fields in which samples differ from the defaults of their track, and the size.
  init(_ samples: [TrackFragment.Sample], defaults: TrackExtends) {
    self = [.dataOffset, .size]
    if samples.contains(where: { $0.duration != defaults.defaultDuration }) { self.insert(.duration) }
    if samples.contains(where: { $0.compositionOffset != 0 }) { self.insert(.compositionOffset) }
    if samples.dropFirst().contains(where: { $0.flags != defaults.defaultFlags }) {
      self.insert(.flags)
    } else if let first = samples.first, first.flags != defaults.defaultFlags {
      self.insert(.firstFlags)
    }
  }

  /// Bytes per sample.
  var entryLength: Int {
    [.duration, .size, .flags, .compositionOffset].reduce(0) { $0 + (self.contains($1) ? 4 : 0) }
  }
}
