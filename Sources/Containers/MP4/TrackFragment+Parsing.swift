public import Media
internal import NIOCore

extension TrackFragment {
  /// Maximum number of samples of a run without per-sample fields.
  private static let maximumUniformSamples: UInt32 = 1 << 16

  /// Parses a `traf` box with one run.
  ///
  /// - Parameter extends: `trex` boxes of all tracks.
  /// - Throws: `.missing` without `tfhd`, `tfdt`, `trun` or the track's `trex`; `.unsupported` for several runs and for
  ///   offsets that do not count from the `moof`; `.tooLarge` for over 65,536 samples without fields; `.truncated`.
  public init(parsing box: MP4Box, extends: [TrackExtends]) throws(ParsingError) {
    let children = try box.children()
    let header = try Self.only("tfhd", in: children)
    var (_, flags, content) = try header.full()
    guard let trackID = content.readInteger(as: UInt32.self) else { throw Self.truncated(header) }
    guard var defaults = extends.first(where: { $0.trackID == trackID }) else {
      throw ParsingError(.missing, field: "trex", offset: header.offset)
    }
    guard flags & 0x1 == 0, flags & TrackRunFlags.defaultBaseIsMoof != 0 else {
      throw ParsingError(.unsupported, field: "base_data_offset", offset: header.offset)
    }
    if flags & 0x2 != 0 { _ = try Self.number(&content, header) }  // sample_description_index
    if flags & 0x8 != 0 { defaults.defaultDuration = try Self.number(&content, header) }
    if flags & 0x10 != 0 { defaults.defaultSize = try Self.number(&content, header) }
    if flags & 0x20 != 0 { defaults.defaultFlags = SampleFlags(rawValue: try Self.number(&content, header)) }

    let timeBox = try Self.only("tfdt", in: children)
    var time = try timeBox.full()
    if time.version == 0 {
      self.baseDecodeTime = UInt64(try Self.number(&time.content, timeBox))
    } else {
      guard let base = time.content.readInteger(as: UInt64.self) else { throw Self.truncated(timeBox) }
      self.baseDecodeTime = base
    }
    self.trackID = trackID
    (self.samples, self.dataOffset) = try Self.run(Self.only("trun", in: children), defaults)
  }

  private static func run(
    _ box: MP4Box, _ defaults: TrackExtends
  ) throws(ParsingError) -> (samples: [Sample], dataOffset: Int32) {
    var (_, rawFlags, content) = try box.full()
    let flags = TrackRunFlags(rawValue: rawFlags)
    let count = try Self.number(&content, box)
    guard flags.contains(.dataOffset) else {
      throw ParsingError(.missing, field: "data_offset", offset: box.offset)
    }
    let dataOffset = Int32(bitPattern: try Self.number(&content, box))
    var firstFlags: SampleFlags?
    if flags.contains(.firstFlags) { firstFlags = SampleFlags(rawValue: try Self.number(&content, box)) }
    if flags.entryLength == 0 {
      guard count <= Self.maximumUniformSamples else {
        throw ParsingError(.tooLarge, field: "sample_count", offset: box.offset)
      }
    } else if content.readableBytes / flags.entryLength < Int(count) {
      throw Self.truncated(box)
    }
    var samples: [Sample] = []
    samples.reserveCapacity(Int(count))
    for index in 0..<count {
      var sample = Sample(
        duration: defaults.defaultDuration, size: defaults.defaultSize, flags: defaults.defaultFlags)
      if index == 0, let firstFlags { sample.flags = firstFlags }
      if flags.contains(.duration) { sample.duration = try Self.number(&content, box) }
      if flags.contains(.size) { sample.size = try Self.number(&content, box) }
      if flags.contains(.flags) { sample.flags = SampleFlags(rawValue: try Self.number(&content, box)) }
      if flags.contains(.compositionOffset) {
        sample.compositionOffset = Int32(bitPattern: try Self.number(&content, box))
      }
      samples.append(sample)
    }
    return (samples, dataOffset)
  }

  private static func only(_ type: FourCharacterCode, in boxes: [MP4Box]) throws(ParsingError) -> MP4Box {
    let found = boxes.filter { $0.type == type }
    guard let box = found.first else { throw ParsingError(.missing, field: type.description) }
    guard found.count == 1 else {
      throw ParsingError(.unsupported, field: type.description, offset: found[1].offset)
    }
    return box
  }

  private static func number(_ content: inout ByteBuffer, _ box: MP4Box) throws(ParsingError) -> UInt32 {
    guard let number = content.readInteger(as: UInt32.self) else { throw Self.truncated(box) }
    return number
  }

  private static func truncated(_ box: MP4Box) -> ParsingError {
    ParsingError(.truncated, field: box.type.description, offset: box.offset)
  }
}
