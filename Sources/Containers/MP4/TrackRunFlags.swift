/// Which fields a `trun` box has, ISO/IEC 14496-12 §8.8.8.
struct TrackRunFlags: OptionSet {
  let rawValue: UInt32

  static let dataOffset = Self(rawValue: 0x000001)
  static let firstFlags = Self(rawValue: 0x000004)
  static let duration = Self(rawValue: 0x000100)
  static let size = Self(rawValue: 0x000200)
  static let flags = Self(rawValue: 0x000400)
  static let compositionOffset = Self(rawValue: 0x000800)

  /// In `tfhd`: data offsets count from the start of the `moof`, §8.8.7.1.
  static let defaultBaseIsMoof: UInt32 = 0x020000

  init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// The fields that tell samples beside the defaults of their track.
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

  /// The bytes of the box before the first sample's: header, version and flags, sample_count, data_offset,
  /// first_sample_flags.
  var headLength: Int {
    8 + 4 + 4 + 4 + (self.contains(.firstFlags) ? 4 : 0)
  }

  /// The bytes of each sample.
  var entryLength: Int {
    [.duration, .size, .flags, .compositionOffset].reduce(0) { $0 + (self.contains($1) ? 4 : 0) }
  }
}
