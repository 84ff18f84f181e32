public import NIOCore

/// The samples of one track in a fragment: the `traf` box, ISO/IEC 14496-12 §8.8.6, with one run.
///
/// ```
/// traf ─┬─ tfhd  track; data offsets count from the start of the moof (default-base-is-moof)
///       ├─ tfdt  version 1: the decoding time of the first sample
///       └─ trun  for each sample what differs from the track's defaults
/// ```
public struct TrackFragment: Hashable, Sendable {
  /// One sample of a run.
  public struct Sample: Hashable, Sendable {
    /// To the next sample's decoding time, in ticks of the track's timescale.
    public var duration: UInt32
    /// In bytes.
    public var size: UInt32
    /// Whether decoding can start here.
    public var flags: SampleFlags
    /// Ticks from decoding to presentation.
    public var compositionOffset: Int32

    /// A sample.
    public init(duration: UInt32, size: UInt32, flags: SampleFlags, compositionOffset: Int32 = 0) {
      self.duration = duration
      self.size = size
      self.flags = flags
      self.compositionOffset = compositionOffset
    }
  }

  /// `track_ID`, at least 1.
  public var trackID: UInt32
  /// `baseMediaDecodeTime`: the decoding time of the first sample, in ticks of the track's timescale.
  public var baseDecodeTime: UInt64
  /// The samples in decoding order.
  public var samples: [Sample]
  /// Where the first sample's bytes are, counted from the start of the `moof`; the others follow it.
  public var dataOffset: Int32

  /// A run of samples.
  public init(trackID: UInt32, baseDecodeTime: UInt64, samples: [Sample], dataOffset: Int32 = 0) {
    self.trackID = trackID
    self.baseDecodeTime = baseDecodeTime
    self.samples = samples
    self.dataOffset = dataOffset
  }

  /// The bytes of ``serialize(into:defaults:)``.
  func serializedLength(defaults: TrackExtends) -> Int {
    let run = TrackRunFlags(self.samples, defaults: defaults)
    return 8 + 16 + 20 + run.headLength + self.samples.count * run.entryLength
  }

  /// Appends the box.
  ///
  /// - Parameter defaults: Of the track, as its `trex` box has them: what is equal is not written again.
  public func serialize(into buffer: inout ByteBuffer, defaults: TrackExtends) {
    let run = TrackRunFlags(self.samples, defaults: defaults)
    buffer.writeBox("traf") {
      $0.writeFullBox("tfhd", flags: TrackRunFlags.defaultBaseIsMoof) { $0.writeInteger(self.trackID) }
      $0.writeFullBox("tfdt", version: 1) { $0.writeInteger(self.baseDecodeTime) }
      $0.writeFullBox("trun", version: 1, flags: run.rawValue) {
        // No trap: each sample takes memory of its own, so that there are less than 2³².
        $0.writeInteger(UInt32(self.samples.count))
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
  }
}
